/** Decides how files are written that Skein makes for its user: agents and the first skein.json. None that is there is written over. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { AgentMode } from "@skein/domain/AgentInfo"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { dirname } from "node:path"
import { reason } from "./internal/readText.ts"

/** A file could not be made. */
export class FileNotMade extends Schema.TaggedError<FileNotMade>()("FileNotMade", {
  path: Schema.String,
  message: Schema.String
}) {}

/** What a new agent's file says. */
export interface AgentText {
  readonly description: string
  readonly mode: AgentMode
  readonly prompt: string
}

/** The text of an agent's file. */
export const agentText = ({ description, mode, prompt }: AgentText): string =>
  // A text in quotes, as JSON has it, is YAML whatever stands in it. What a model wrote must not reach for files or secrets.
  `---\ndescription: ${inert(JSON.stringify(description.replaceAll(/\s+/g, " ").trim()))}\nmode: ${mode}\n---\n\n${
    inert(prompt.trim())
  }\n`

const inert = (text: string): string => text.replaceAll(/\{(?=(?:env|file):)/g, "{ ")

/** Makes a file, and the directories that it lies in; one that is there stays as it is. */
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
          ? `${path} is there already, and is not written over. Remove it first, or choose another name.`
          : `${path} cannot be written: ${reason(error)}.`
      })
  )
  return path
})
