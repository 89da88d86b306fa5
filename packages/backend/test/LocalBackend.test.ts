/** Proves the backend in this process. */
import * as LocalBackend from "@skein/backend/LocalBackend"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Layer from "effect/Layer"
import { conformance } from "./support/conformance.ts"

conformance(
  "LocalBackend",
  (scripts, options) => Layer.provide(LocalBackend.layer(), SkeinTest.layer(scripts, { asks: "person", ...options }))
)
