/**
 * Writes the files that Skein creates for its user: agents and the first skein.json. Existing files are never
 * overwritten.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import type { AgentMode } from "@skein/domain/AgentInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { dirname } from "node:path"
import { reason } from "./internal/readText.ts"

/** A file could not be created. */
export class FileNotMade extends Schema.TaggedError<FileNotMade>()("FileNotMade", {
  path: Schema.String,
  message: Schema.String
}) {}

/** The content of a new agent's file. */
export interface AgentText {
  readonly description: string
  readonly mode: AgentMode
  readonly prompt: string
}

/** The text of an agent's file. */
export const agentText = ({ description, mode, prompt }: AgentText): string =>
  // A JSON string is valid YAML. Text from a model must not refer to files or secrets.
  `---\ndescription: ${inert(JSON.stringify(description.replaceAll(/\s+/g, " ").trim()))}\nmode: ${mode}\n---\n\n${
    inert(prompt.trim())
  }\n`

const inert = (text: string): string => text.replaceAll(/\{(?=(?:env|file):)/g, "{ ")

/** Creates a file and its directories; an existing file stays unchanged. */
export const makeFile = Effect.fn("NewFile.makeFile")(function*(path: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    Effect.zipRight(
      fs.makeDirectory(dirname(path), { recursive: true }),
      fs.writeFileString(path, text, { flag: "wx" })
    ),
    (error) =>
      new FileNotMade({
        path,
        message: error._tag === "SystemError" && error.reason === "AlreadyExists"
          ? `${path} already exists. Remove it first, or choose another name.`
          : `${path} cannot be written: ${reason(error)}.`
      })
  )
  return path
})
