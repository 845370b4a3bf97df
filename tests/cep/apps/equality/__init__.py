"""Many apps in all hosts, and under kills of all that they run on."""
