/**
 * Runs before each test file. Test files share one process, so they share vitest's `it`. `layer` of @effect/vitest puts
 * methods on it that run in that layer and on its clock; this puts the original ones back for the next file.
 */
import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"

Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })
