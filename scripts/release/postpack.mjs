// @ts-check
// npm runs this in a package after it packed it: see scripts/release/prepack.mjs.
import { restoreManifest } from "./manifestSwap.mjs"

restoreManifest(process.cwd())
