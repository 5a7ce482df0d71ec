#!/usr/bin/env python3
"""The golden pairs through the official npm SDK: node/typesafe.mjs."""

import part

SERVERS = ("open", "keyed")

if __name__ == "__main__":
    import systemone

    part.main_of_node("typesafe.mjs", golden=systemone.GOLDEN)
