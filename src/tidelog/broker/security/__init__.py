"""Security at work in a broker: connections are authenticated, requests authorized, throttled and audited."""
