#!/usr/bin/env node
import("../dist/skein.mjs")
