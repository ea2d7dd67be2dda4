"""The native engine on properties about whole runs: the region's graph, its fair loops, which fairness is needed."""
