"""HTTP to endpoints: connections, tunnels through proxies, one request and its reply."""
