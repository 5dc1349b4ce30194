"""What people see of live bandits: pages, charts and reports. Knows no HTTP."""
