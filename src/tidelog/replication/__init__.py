"""A partition as its leader sees it: admission, append, high watermark, who waits for what."""
