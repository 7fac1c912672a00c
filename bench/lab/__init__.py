"""What the benches share: ranks to measure on, intervals around figures, the machine's name."""
