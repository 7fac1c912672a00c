"""EC2's instance metadata service, and a Spot instance that it tells of."""
