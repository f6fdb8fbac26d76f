"""The hazards of aliasing: one check a file, each on the one alias analysis."""
