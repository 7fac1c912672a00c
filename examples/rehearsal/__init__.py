"""What the demo is made of: a stage for processes, nodes, jobs, a timeline and a comparison."""
