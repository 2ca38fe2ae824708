"""The schema registry over HTTP: clients are authenticated, bodies limited, content types agreed on."""
