import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as Effect from "effect/Effect"

/**
 * The settings for this directory, and ignored values of the project; it needs a FileSystem, such as
 * NodeFileSystem.layer.
 */
export const loaded = ConfigFiles.load({ directory: "." }).pipe(
  Effect.map(({ settings, warnings }) => ({ settings, warnings })),
  Effect.provide(DataDirs.layer())
)
