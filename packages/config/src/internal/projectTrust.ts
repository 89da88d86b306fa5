/**
 * Decides what a project's own files may set: they can restrict and choose. Unless trusted exactly as written, they
 * cannot allow, read secrets, run commands, or redirect requests and keys.
 */
import { defaultRules } from "@skein/core/Agent"
import { defaults } from "@skein/core/Config"
import type { Rule } from "@skein/domain/Rule"
import { common } from "./mergeProject.ts"
import { inside, narrow } from "./narrow.ts"
import { overlaps } from "./pattern.ts"
import {
  at,
  type Origin,
  record,
  rulePath,
  type Sourced,
  type SourcedLeaf,
  type SourcedRecord,
  type SourcedRule
} from "./sourced.ts"

/** Whether these are commands that would run without a question. */
export const holdsCommands = (top: string | undefined): boolean => top === "hooks" || top === "claude_hooks"

/** Whether this is an MCP server, which runs a program or says where requests go. */
export const isServer = ([top]: ReadonlyArray<string>): boolean => top === "mcp"

/** Whether this names code that runs in this process, or says what it is called with. Nobody can trust that by its name. */
const loadsCode = (top: string | undefined, key: string | undefined): boolean =>
  top === "provider" && (key === "package" || key === "options")

/** Whether a value is never for a project to set, such as hooks, which would run without a question. */
export const isIgnored = ([top, , key, ...rest]: ReadonlyArray<string>): boolean =>
  top === "telemetry"
  || top === "events"
  || top === "env"
  || top === "workspace"
  || top === "workspace_remote"
  || top === "sandbox_read"
  || top === "sandbox_env"
  || holdsCommands(top)
  || top === "mcp"
  || loadsCode(top, key)
  || (top === "provider" && (key === "headers" || (rest.length === 0 && (key === "base_url" || key === "key_env"))))

/** The effect of such a value. */
const reach = ([top, , key]: ReadonlyArray<string>): string =>
  holdsCommands(top)
    ? "run commands"
    : top === "mcp"
    ? "start MCP servers"
    : top === "env"
    ? "set variables of commands"
    : top === "events"
    ? "say how long the events of all projects are kept"
    : top === "workspace" || top === "workspace_remote"
    ? "send its files elsewhere"
    : top === "sandbox_read" || top === "sandbox_env"
    ? "show commands in the sandbox more"
    : loadsCode(top, key)
    ? "load code"
    : `say where ${top === "telemetry" ? "telemetry goes" : "requests and keys go"}`

/** Why this value of a project's file may not contain an environment variable. */
export const refusesVariable = ([top, , key]: ReadonlyArray<string>): string | undefined =>
  (top === "agent" && (key === "prompt" || key === "description" || key === "output")) || top === "command"
    ? "a project's file may not put environment variables into text for models"
    : top === "instructions"
    ? "a project's file may not put environment variables into names of files, which are shown"
    : undefined

/** Why this value of a project's file may not contain a file; `path` is relative to the project. */
export const refusesFile = (path: ReadonlyArray<string>): string | undefined =>
  path[0] === ".."
    ? "a project's file may not read files outside of the project"
    : path.some((name) => /^\.(?:env(?:\..*)?|git)$/i.test(name))
    ? "a project's file may not read this file, which may hold secrets"
    : undefined

/** How many tokens the tools of servers may take where nothing says so. */
const mcpBudget = 8_000

/** Whether a project wants requests that its user did not want: they cost money, and nobody needs their answers. */
const asksForMore = (path: ReadonlyArray<string>, { value }: SourcedLeaf, user: SourcedRecord): boolean => {
  const granted: unknown = at(user, "leaf", path)?.value
  switch (path.join(".")) {
    case "summaries":
      return value !== false && granted !== true
    case "compaction.auto":
      return value !== false && granted === false
    case "mcp_budget":
      return !(Number(value) <= Number(granted ?? mcpBudget))
    case "compaction.threshold":
      return !(Number(value) >= Number(granted ?? defaults.compaction.threshold))
    default:
      return false
  }
}

const strictness: Readonly<Record<string, number>> = { off: 0, auto: 1, on: 2 }

/** Whether a project wants to sandbox commands less than its user does. */
const loosens = (path: ReadonlyArray<string>, { value }: SourcedLeaf, user: SourcedRecord): boolean => {
  const granted: unknown = at(user, "leaf", path)?.value
  switch (path.join(".")) {
    case "sandbox":
      return (strictness[String(value)] ?? 0) < (strictness[String(granted ?? "auto")] ?? 0)
    case "sandbox_ask":
      return value !== "always" && granted === "always"
    case "sandbox_network":
      return value === true && granted !== true
    default:
      return false
  }
}

/** Whether a value is a limit, which a project may only lower. */
const isAmount = (path: ReadonlyArray<string>): boolean =>
  (path.length === 2 && (path[0] === "limits" || path[0] === "budget"))
  || (path.length === 3 && path[0] === "limits")
  || (path.length === 3 && path[0] === "provider" && path[2] === "max_requests")
  || (path.length === 4 && path[0] === "agent" && path[2] === "budget")

const defaultAt = (path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), defaults)

/** The user's limit, if a project wants more. */
const grantedLess = (path: ReadonlyArray<string>, node: Sourced, user: SourcedRecord): string | undefined => {
  if (node.kind !== "leaf" || !isAmount(path)) return undefined
  const usual = path[0] === "limits" ? defaultAt(path) : undefined
  const granted: unknown = at(user, "leaf", path)?.value ?? usual
  return granted === undefined || Number(node.value) <= Number(granted) ? undefined : String(granted)
}

/** A value of a project's file that exceeds what its user grants. */
export interface Widening {
  readonly path: ReadonlyArray<string>
  readonly origin: Origin
  /** The value as written in the file. */
  readonly written: unknown
  /** The value that would take effect. */
  readonly value: unknown
  /** Why it is ignored. */
  readonly why: string
  /** Whether it may count once its user trusts it. */
  readonly isTrustable: boolean
}

/** The usable part of a project's config. */
export interface Admitted {
  readonly tree: SourcedRecord
  /** Values that exceed what the user grants, trusted or not. */
  readonly widenings: ReadonlyArray<Widening>
}

/** Whether a person who reads it knows what it does. Of servers the names of variables say enough: what they hold goes there. */
const isWrittenOut = (written: unknown, path: ReadonlyArray<string>): boolean =>
  !(isServer(path) ? /\{file:/ : /\{(?:env|file):/).test(JSON.stringify(written) ?? "")

/** Whether a server is only turned off, which restricts. */
const isOff = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Reflect.get(value, "enabled") === false

/** A server of a project: nobody believes what it says of itself, nor what the project says of it. */
const distrusted = (server: SourcedLeaf): SourcedLeaf => {
  const { read_only: _, ...rest } = Object(server.value)
  return { ...server, value: { ...rest, trust_hints: false } }
}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Hooks of a project run after the user's, and never replace them. */
const behind = (mine: SourcedLeaf | undefined, theirs: SourcedLeaf): SourcedLeaf =>
  mine === undefined
    ? theirs
    : {
      ...theirs,
      value: [...listOf(mine.value), ...listOf(theirs.value)],
      shown: [...listOf(mine.shown ?? mine.value), ...listOf(theirs.shown ?? theirs.value)]
    }

/**
 * Removes from a project's config what would exceed the user's and is not trusted; the rest is ready to be merged over
 * the user's.
 */
export const admit = (
  user: SourcedRecord,
  project: SourcedRecord,
  isTrusted: (widening: Widening) => boolean = () => false
): Admitted => {
  const widenings: Array<Widening> = []
  const counts = (
    path: ReadonlyArray<string>,
    { origin, shown, value }: Omit<SourcedLeaf, "kind">,
    why: string,
    isTrustable = true
  ): boolean => {
    const written = shown ?? value
    const isSeen = isWrittenOut(written, path)
    const widening = {
      path,
      origin,
      written,
      value,
      // The person who is asked to trust the value cannot see their content.
      why: isSeen ? why : `${why}, nor can {env:…} and {file:…} be trusted; put it into your own config if you want it`,
      isTrustable: isTrustable && isSeen
    }
    widenings.push(widening)
    return widening.isTrustable && isTrusted(widening)
  }

  const mayStay = (node: SourcedLeaf, path: ReadonlyArray<string>): boolean => {
    if (isServer(path) && isOff(node.value)) return true
    if (isIgnored(path)) {
      return counts(path, node, `a project's file may not ${reach(path)}`, !loadsCode(path[0], path[2]))
    }
    const granted = grantedLess(path, node, user)
    if (granted !== undefined) {
      return counts(path, node, `a project's file can only restrict what you grant (${granted})`)
    }
    if (loosens(path, node, user)) {
      // Nothing that a project says switches the sandbox off.
      return counts(path, node, "a project's file may not loosen the sandbox", path[0] !== "sandbox")
    }
    return !asksForMore(path, node, user) ||
      counts(path, node, "a project's file may not request additional model requests")
  }

  const keep = (node: Sourced, path: ReadonlyArray<string>): Sourced | undefined => {
    if (node.kind === "rules") return node
    if (node.kind === "leaf") {
      if (!mayStay(node, path)) return undefined
      if (isServer(path)) return distrusted(node)
      return holdsCommands(path[0]) ? behind(at(user, "leaf", path), node) : node
    }
    const kept = [...node.entries].flatMap(([key, value]) => {
      const each = keep(value, [...path, key])
      return each === undefined ? [] : [[key, each] as const]
    })
    return kept.length === 0 && isIgnored(path) ? undefined : record(kept, node.origin)
  }

  const rules = (path: ReadonlyArray<string>) => at(user, "rules", path)?.rules ?? []
  const trusted = new Map<SourcedRule, boolean>()
  const rulesAt = (path: ReadonlyArray<string>) => at(project, "rules", path)?.rules ?? []

  /**
   * Removes a project's `allow`, unless it is trusted. It can only take back the project's own restrictions, to what
   * `base` says without the project. `above` are the project's earlier rules.
   */
  const soften = (
    path: ReadonlyArray<string>,
    base: ReadonlyArray<Rule>,
    above: ReadonlyArray<SourcedRule> = []
  ): ReadonlyArray<SourcedRule> => {
    const restricts = above.filter(({ action }) => action !== "allow")
    return rulesAt(path).flatMap((rule): ReadonlyArray<SourcedRule> => {
      if (rule.action !== "allow") {
        restricts.push(rule)
        return [rule]
      }
      const lifted = restricts.filter((each) =>
        overlaps(each.permission, rule.permission) && overlaps(each.pattern, rule.pattern)
      )
      const why = `a project's file may not allow${lifted.length === 0 ? "" : ", so your own rules apply"}`
      const may = trusted.get(rule) ?? counts(rulePath(path, rule), { origin: rule.origin, value: rule.action }, why)
      trusted.set(rule, may)
      if (may) return [rule]
      if (lifted.length === 0) return []
      const before = inside(base, rule)?.map((each) => ({ ...each, origin: rule.origin }))
      return before ?? (lifted.some(({ action }) => action === "deny") ? [{ ...rule, action: "ask" }] : [])
    })
  }

  const usual = [...defaultRules, ...rules(["permission"])]
  const top = soften(["permission"], usual)

  const agent = (name: string, kept: SourcedRecord | undefined): SourcedRecord | undefined => {
    const path = ["agent", name]
    const mine = rules([...path, "permission"])
    const base = [...usual, ...mine]
    // The user's rules for an agent come after those for all agents, so the project's rules for all agents must as
    // well.
    const over = [
      ...(mine.length === 0 ? [] : soften(["permission"], base)),
      ...soften([...path, "permission"], base, rulesAt(["permission"]))
    ]
    const confined = narrow([...rules(["permission"]), ...mine], over)
    if (kept === undefined && confined.length === 0) return undefined
    const entries = new Map(kept?.entries)
    if (entries.has("permission") || confined.length > 0) entries.set("permission", { kind: "rules", rules: confined })
    if (entries.has("ceiling") && at(user, "record", path) !== undefined) {
      entries.delete("ceiling")
      counts(
        [...path, "ceiling"],
        { origin: kept?.origin ?? project.origin, value: undefined },
        "a project's file may not change the ceiling of an agent of yours; use permission to deny",
        false
      )
    }
    for (const key of ["allowedTools", "allowAgents", "deniedTools"]) {
      const before = names(at(user, "leaf", [...path, key]))
      const after = kept?.entries.get(key)
      if (before === undefined || after?.kind !== "leaf") continue
      const theirs = names(after) ?? []
      entries.set(key, { ...after, value: key === "deniedTools" ? [...before, ...theirs] : common(before, theirs) })
    }
    return { kind: "record", entries, origin: kept?.origin ?? project.origin }
  }

  const admitted = keep(project, [])
  const kept = admitted?.kind === "record" ? admitted : record([], project.origin)
  const entries = new Map(kept.entries)
  if (entries.has("permission")) {
    entries.set("permission", { kind: "rules", rules: narrow(rules(["permission"]), top) })
  }
  const agents = at(kept, "record", ["agent"])
  const known = new Set([...(agents?.entries.keys() ?? []), ...(at(user, "record", ["agent"])?.entries.keys() ?? [])])
  const changed = [...known].flatMap((name) => {
    const changes = agent(name, at(kept, "record", ["agent", name]))
    return changes === undefined ? [] : [[name, changes] as const]
  })
  if (changed.length > 0) entries.set("agent", record(changed, agents?.origin ?? project.origin))
  return { tree: { kind: "record", entries, origin: project.origin }, widenings }
}

const names = (leaf: SourcedLeaf | undefined): ReadonlyArray<string> | undefined =>
  Array.isArray(leaf?.value) ? leaf.value.map(String) : undefined
