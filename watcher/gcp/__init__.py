"""Google Cloud's APIs as the daemon needs them: plain HTTPS, and one door to Google's library."""
