"""The course of a drill that a job has survived."""

from watcher.drill.course import Course

SURVIVED = Course(
    window_s=120,
    flag_s=0.5,
    noticed_s=0.51,
    stopped_s=0.6,
    committed_s=1.0,
    ended_s=4.0,
    code=75,
    step=56,
    committed_step=50,
    resumed_step=51,
    resumed_after_s=8.0,
)
