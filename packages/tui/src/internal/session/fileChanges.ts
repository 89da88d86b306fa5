/** Reads from messages what tools changed in files since a prompt, and which commands ran: nobody knows what those changed. */
import type { MessageWithParts, ToolPart } from "@skein/domain/Part"

/** A change of a file, as the tool that made it noted it. */
export interface FileChange {
  readonly file: string
  /** A unified diff; undefined where the tool noted none, or not all of it. */
  readonly diff: string | undefined
  readonly isCreated: boolean
  readonly at: number
}

/** What has happened since a prompt. */
export interface Since {
  /** The latest first. */
  readonly changes: ReadonlyArray<FileChange>
  readonly commands: ReadonlyArray<string>
}

const isText = (value: unknown): value is string => typeof value === "string"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** What tools write behind a diff that they cut. */
const cut = "\n… (more is not shown)"

const diffOf = (diff: unknown): string | undefined =>
  isText(diff) && diff.startsWith("@@ ") && !diff.endsWith(cut) ? diff : undefined

/** The diffs of a patch, by the names of their files. */
const sectionsOf = (diff: unknown): ReadonlyMap<string, string> =>
  isText(diff) && !diff.endsWith(cut)
    ? new Map(
      diff.split(/^\+\+\+ /m).slice(1).map((section) => {
        const end = section.indexOf("\n")
        return end < 0 ? [section, ""] : [section.slice(0, end), section.slice(end + 1).replace(/\n$/, "")]
      })
    )
    : new Map()

const changesOf = ({ state, tool }: ToolPart): ReadonlyArray<FileChange> => {
  if (state.status !== "completed" || state.metadata["done"] === "unchanged") return []
  const { diff, done, filePath, files } = state.metadata
  const at = state.time.end
  if ((tool === "edit" || tool === "write") && isText(filePath)) {
    return [{ file: filePath, diff: diffOf(diff), isCreated: done === "created", at }]
  }
  if (tool !== "patch" || !Array.isArray(files)) return []
  const sections = sectionsOf(diff)
  return files.filter(isText).map((listed) => {
    const file = listed.replace(/^[ADM] /, "")
    return { file, diff: diffOf(sections.get(file)), isCreated: listed.startsWith("A "), at }
  })
}

const commandOf = ({ state, tool }: ToolPart): ReadonlyArray<string> =>
  tool === "bash" && state.status === "completed" && isRecord(state.input) && isText(state.input["command"])
    ? [state.input["command"]]
    : []

/** What has happened in the calls of these messages since a time, in milliseconds. */
export const changedSince = (messages: ReadonlyArray<MessageWithParts>, since: number): Since => {
  const parts = messages.flatMap((message) => message.parts).filter((part): part is ToolPart =>
    part.type === "tool" && part.state.status === "completed" && part.state.time.end >= since
  )
  return {
    changes: parts.flatMap(changesOf).toSorted((a, b) => b.at - a.at),
    commands: [...new Set(parts.flatMap(commandOf))]
  }
}
