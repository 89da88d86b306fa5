/** Resolves the command of a hook: relative to the config file, and never to the directory of a session. */
import type { HookConfig } from "@skein/domain/HookConfig"
import { dirname } from "node:path"

/** Whether the value at a path is the list of an event's hooks. */
export const holdsHooks = (path: ReadonlyArray<string>): boolean => path.length === 2 && path[0] === "hooks"

const quoted = (path: string): string =>
  /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`

/**
 * Resolves a command that begins with `./` or `../` relative to its file, so that a cloned repository cannot replace
 * it.
 */
const placed = <A extends { readonly command?: string | undefined }>(hook: A, file: string): A =>
  hook.command !== undefined && /^\s*\.{1,2}\//.test(hook.command)
    ? { ...hook, command: `${quoted(dirname(file))}/${hook.command.trimStart().replace(/^(?:\.\/+)+/, "")}` }
    : hook

/** The hooks of an event, ready to run; they were validated before. */
export const besideFile = (value: unknown, file: string): ReadonlyArray<HookConfig> =>
  (value as ReadonlyArray<HookConfig>).map(({ hooks, ...entry }) => ({
    ...placed(entry, file),
    ...(hooks === undefined ? {} : { hooks: hooks.map((each) => placed(each, file)) })
  }))
