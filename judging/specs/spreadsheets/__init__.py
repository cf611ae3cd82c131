"""Cells of workbooks and CSV files behind one `Grid`."""
