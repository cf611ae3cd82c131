"""Reports on debates: meta-evaluation, ranking by pairs, robustness and bias."""
