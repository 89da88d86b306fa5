/** Decides which questions remain if a command runs confined, and how it runs with the answers. */
import { readOnlyBash } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import type { Allowance, PermissionAsk } from "@skein/core/Tool"
import type { SandboxLimits } from "../../SandboxPlace.ts"

/** What a command may need beyond what every sandbox allows. */
export type Need = "write" | "network" | "credentials"

/** The permissions of one call, recorded as they are decided. */
export class Grants {
  #command: Allowance | undefined
  readonly #needs = new Set<Need>()
  readonly #answered = new Set<Need>()
  readonly #bySandbox = new Set<string>()
  readonly #outside = new Set<string>()
  readonly #read = new Set<string>()

  /** Whether a rule or a person allowed the command itself. Then it may change the tree. */
  get isByRule(): boolean {
    return this.#command === "rule" || this.#command === "hook" || this.#command === "person"
  }

  has(need: Need): boolean {
    return this.#needs.has(need)
  }

  /** Approved paths outside that the sandbox would hide. */
  get outside(): ReadonlyArray<string> {
    return [...this.#outside, ...[...this.#read].filter((path) => path.startsWith("/"))]
  }

  /** Whether a path outside needs no question, because the sandbox prevents changes there. */
  isLeft(path: string): boolean {
    return this.#bySandbox.has(path) && !this.#outside.has(path)
  }

  /** Whether reading this file of the tree was approved. */
  mayRead(path: string): boolean {
    return this.#read.has(path)
  }

  readonly command = (by: Allowance): void => {
    this.#command = by
  }

  /** Whether a person has answered this together with the question for another need. */
  isAnswered(need: Need): boolean {
    return this.#answered.has(need)
  }

  readonly need = (need: Need, together: ReadonlyArray<Need>) => (by: Allowance): void => {
    this.#needs.add(need)
    if (by === "person") { for (const each of together) this.#answered.add(each) }
  }

  readonly left = (paths: ReadonlyArray<string>) => (by: Allowance): void => {
    for (const path of paths) (by === "sandbox" ? this.#bySandbox : this.#outside).add(path)
  }

  readonly reads = (paths: ReadonlyArray<string>) => (): void => {
    for (const path of paths) this.#read.add(path)
  }
}

const isReading = (ask: PermissionAsk): boolean =>
  ask.unclear !== true &&
  ask.patterns.every((pattern) =>
    ask.exact?.includes(pattern) !== true
    && evaluate(readOnlyBash, "bash", pattern, undefined, ask.reads?.includes(pattern) === true) === "allow"
  )

/** Whether the whole line is known to only read. */
export const readsOnly = (asks: ReadonlyArray<PermissionAsk>): boolean =>
  asks.every((ask) => ask.permission === "bash" ? isReading(ask) : ask.permission !== "edit")

const withPatterns = (ask: PermissionAsk, patterns: ReadonlyArray<string>): ReadonlyArray<PermissionAsk> =>
  patterns.length === 0 ? [] : [patterns.length === ask.patterns.length ? ask : { ...ask, patterns }]

const gets: Readonly<Record<Need, string>> = {
  write: "It may change files of the project.",
  network: "It may use the network.",
  credentials: "It sees your home, your keys and the secrets of the environment."
}

/**
 * The question for the needs that the command declares. The same person's answer also covers the needs in `together`.
 */
const needAsk = (bash: PermissionAsk, need: Need, together: ReadonlyArray<Need>, grants: Grants): PermissionAsk => {
  const { allowed, confined: _, sandbox: __, ...ask } = bash
  return {
    ...ask,
    permission: `bash_${need}`,
    always: need === "credentials" ? [] : ask.always,
    metadata: { ...ask.metadata, reason: [need, ...together].map((each) => gets[each]).join(" ") },
    together: together.map((each) => `bash_${each}`),
    needless: () => (need === "write" && grants.isByRule) || grants.isAnswered(need),
    allowed: (by) => {
      grants.need(need, together)(by)
      if (need === "write" && by === "person") allowed?.(by)
    }
  }
}

/** The questions for all declared needs: one for changes and the network, one for credentials. */
const needAsks = (bash: PermissionAsk, needs: ReadonlyArray<Need>, grants: Grants): ReadonlyArray<PermissionAsk> => {
  const order: ReadonlyArray<Need> = ["write", "network", "credentials"]
  const both = needs.includes("write") && needs.includes("network")
  return order.filter((need) => needs.includes(need)).map((need) =>
    needAsk(bash, need, need === "write" && both ? ["network"] : [], grants)
  )
}

/** The questions of a line that runs confined. */
export const confinedAsks = (
  asks: ReadonlyArray<PermissionAsk>,
  needs: ReadonlyArray<Need>,
  limits: SandboxLimits,
  grants: Grants
): ReadonlyArray<PermissionAsk> => {
  const changes = asks.filter(({ permission }) => permission === "edit").flatMap(({ patterns }) => patterns)
  const isPrivate = (path: string) => limits.isPrivate(path)
  const changesTree = changes.some((path) => !isPrivate(path))
  const answers = limits.answers ? { sandbox: changesTree ? "edits" as const : "anyMode" as const } : {}
  return asks.flatMap((ask): ReadonlyArray<PermissionAsk> => {
    switch (ask.permission) {
      case "bash": {
        const allowed = (by: Allowance) => {
          grants.command(by)
          ask.allowed?.(by)
        }
        // With a network, what the project runs can do as much as without a sandbox.
        const isOpen = limits.network || needs.some((need) => need !== "write")
        const runs = [...ask.runs ?? [], ...isOpen ? ask.runsProject ?? [] : []]
        const bash = { ...ask, runs, confined: true, ...answers, allowed }
        return [
          bash,
          ...needAsks(bash, needs.filter((need) => need !== "network" || !limits.network), grants)
        ]
      }
      // It may then change everything.
      case "bash_write":
        return [{ ...ask, allowed: grants.need("write", ["write"]) }]
      case "external_directory": {
        const left = ask.patterns.filter((path) => !isPrivate(path))
        const seen = limits.answers && left.every((path) => limits.sees(path)) ? { sandbox: "anyMode" as const } : {}
        return withPatterns(ask, left).map((each) => ({ ...each, ...seen, allowed: grants.left(left) }))
      }
      case "edit":
        return withPatterns(ask, ask.patterns.filter((path) => !isPrivate(path)))
      case "read": {
        // What may not be read in a searched directory is hidden.
        if (ask.metadata["searched"] === true) return []
        return [{ ...ask, allowed: grants.reads(ask.patterns) }]
      }
      default:
        return [ask]
    }
  })
}

const signs: Readonly<Record<Need, RegExp>> = {
  write: /read-only file system|\bEROFS\b/i,
  network:
    /could not resolve|name resolution|\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED)\b|network is unreachable|connection refused|couldn't connect to server|failed to connect/i,
  credentials:
    /permission denied \(publickey|could not read (?:username|password)|authentication failed|\bENEEDAUTH\b|authentication required/i
}

/** How a command ran. */
export interface Ran {
  readonly exit: number
  readonly output: string
  readonly readOnly: boolean
  /** Whether edits are denied, so that no question could allow them. */
  readonly deniesEdits: boolean
  readonly has: (need: Need) => boolean
}

/** One sentence for each thing that it lacked; none if it did not fail. */
export const confinedHint = (limits: SandboxLimits, ran: Ran): string => {
  if (ran.exit === 0) return ""
  const lacks = (need: Need) => signs[need].test(ran.output) && !ran.has(need)
  const hints = [
    ...(ran.readOnly && lacks("write")
      ? [
        ran.deniesEdits
          ? "The project is read-only here, because edits are denied."
          : "The project is read-only for this command. If it has to change files, call again with needs: [\"write\"]."
      ]
      : []),
    ...(!limits.network && lacks("network")
      ? ["Commands have no network. If this one has to use it, call again with needs: [\"network\"]."]
      : []),
    ...(lacks("credentials")
      ? [
        "Commands see no credentials. If this one has to use them, call again with needs: [\"credentials\", \"network\"]."
      ]
      : [])
  ]
  return hints.length === 0 ? "" : `\n[Sandbox: ${hints.join(" ")}]`
}
