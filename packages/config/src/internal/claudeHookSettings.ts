/** Decides which hooks in Claude Code's settings run: commands for events that Skein has. The others are reported. */
import { ClaudeHooksConfig } from "@skein/domain/HookConfig"
import { entry } from "./foreign.ts"
import { type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"

type Note = (at: Pick<LocatedEntry, "at" | "key">, message: string) => void

const events = Object.keys(ClaudeHooksConfig.fields)

/** The maximum time limit of a hook, in seconds. */
const longest = 3_600

const field = (tree: LocatedObject, name: string): Located | undefined =>
  tree.entries.find(({ key }) => key === name)?.value

/** A command with its supported options; `undefined` if it cannot run. */
const commandOf = (tree: Located, path: string, note: Note): Located | undefined => {
  const at = { at: tree.at, key: path }
  if (tree.kind !== "object") {
    note(at, "a hook that is not an object does not run")
    return undefined
  }
  const type = plain(field(tree, "type") ?? tree)
  const command = field(tree, "command")
  if (type !== "command" || command?.kind !== "string" || command.value.trim() === "") {
    const what = typeof type === "string" && type !== "command" ? `of the type ${type}` : "without a command"
    note(at, `a hook ${what} does not run: Skein runs only commands`)
    return undefined
  }
  const timeout = field(tree, "timeout")
  const seconds = timeout === undefined ? undefined : Number(plain(timeout))
  const counts = seconds !== undefined && seconds > 0 && seconds <= longest
  if (timeout !== undefined && !counts) {
    note(at, `its timeout is not a number of seconds up to ${longest}, so it has 60`)
  }
  for (const { at: place, key } of tree.entries) {
    if (!["type", "command", "timeout", "statusMessage"].includes(key)) {
      note({ at: place, key: `${path}.${key}` }, "Skein does not know it; the hook runs without it")
    }
  }
  return {
    ...tree,
    entries: tree.entries.filter(({ key }) => key === "type" || key === "command" || (key === "timeout" && counts))
  }
}

const groupOf = (tree: Located, path: string, note: Note): ReadonlyArray<Located> => {
  const at = { at: tree.at, key: path }
  const hooks = tree.kind === "object" ? field(tree, "hooks") : undefined
  if (tree.kind !== "object" || hooks?.kind !== "array") {
    note(at, "this is not an object with a list of hooks, and does not run")
    return []
  }
  const matcher = tree.entries.find(({ key }) => key === "matcher")
  if (matcher !== undefined && matcher.value.kind !== "string") {
    note(at, "its matcher is not text, so its hooks do not run")
    return []
  }
  const items = hooks.items.flatMap((each) => commandOf(each, path, note) ?? [])
  return items.length === 0
    ? []
    : [{
      ...tree,
      entries: [...(matcher === undefined ? [] : [matcher]), entry("hooks", hooks.at, { ...hooks, items })]
    }]
}

/** The hooks of the settings, in the form of Skein's config. */
export const claudeHooksOf = ({ at, key, value }: LocatedEntry, note: Note): ReadonlyArray<LocatedEntry> => {
  if (value.kind !== "object") {
    note({ at, key }, "these must be an object with events, and do not run")
    return []
  }
  const known = value.entries.flatMap((each) => {
    const path = `hooks.${each.key}`
    if (!events.includes(each.key)) {
      note({ at: each.at, key: path }, "Skein does not know this event, and does not run its hooks")
      return []
    }
    if (each.value.kind !== "array") {
      note({ at: each.at, key: path }, "these must be a list, and do not run")
      return []
    }
    const items = each.value.items.flatMap((item) => groupOf(item, path, note))
    return items.length === 0 ? [] : [{ ...each, value: { ...each.value, items } }]
  })
  return known.length === 0 ? [] : [entry("claude_hooks", at, { ...value, entries: known })]
}
