"""Training services that speak the Tinker API: data for MinT, Tinker and `templc.local`."""
