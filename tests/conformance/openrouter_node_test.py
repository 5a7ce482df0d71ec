#!/usr/bin/env python3
"""The golden pairs through OpenRouter's npm SDK: node/openrouter.mjs."""

import part

SERVERS = ("open", "keyed")

if __name__ == "__main__":
    import systemone

    part.main_of_node("openrouter.mjs", golden=systemone.GOLDEN)
