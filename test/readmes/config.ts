import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as Effect from "effect/Effect"

/** The settings that hold here, and what the project says in vain; it needs a FileSystem, such as NodeFileSystem.layer. */
export const loaded = ConfigFiles.load({ directory: "." }).pipe(
  Effect.map(({ settings, warnings }) => ({ settings, warnings })),
  Effect.provide(DataDirs.layer())
)
