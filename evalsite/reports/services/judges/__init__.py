"""Reports on judges: quality, bias, certificate, threshold and drift."""
