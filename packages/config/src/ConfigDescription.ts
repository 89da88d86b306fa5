/** Formats config for display: each value with its origin, and without secrets. */
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import type { LoadedConfig } from "./ConfigFiles.ts"
import { type ConfigEntry, entriesOf, fromInfo } from "./internal/sourced.ts"
import { replaceSecrets, secretsIn } from "./McpSecrets.ts"

/** A value for display. */
export interface ConfigRow {
  /** Its keys, joined by dots: `limits.concurrency`. */
  readonly path: string
  readonly value: unknown
  /** `file:line`, the name of a flag, or `default`. */
  readonly origin: string
}

/** The merged config for display. */
export interface ConfigDescription {
  /** All values, defaults included, by path; rules of one path are in the order in which they apply. */
  readonly rows: ReadonlyArray<ConfigRow>
  /** Everything as one JSON value. */
  readonly json: Readonly<Record<string, unknown>>
}

/** Describes loaded config. Values from `{env:…}` or `{file:…}` are shown as written, and secrets not at all. */
export const describeConfig = (
  { entries, settings }: Pick<LoadedConfig, "entries" | "settings">
): ConfigDescription => {
  const set = new Set(entries.map(({ path }) => path.join(".")))
  const { compaction, deadlines, default_agent, events, limits, retry } = settings
  const settled: ConfigInfo = { compaction, deadlines, default_agent, events, limits, retry }
  const all = [
    ...entriesOf(fromInfo(settled, { name: "default" })).filter(({ path }) => !set.has(path.join("."))),
    ...entries
  ].map((entry) => ({ entry, row: { path: entry.path.join("."), value: shownValue(entry), origin: entry.origin } }))
  const json: Record<string, unknown> = structuredClone({ ...settings })
  for (const { entry, row } of all) if (row.value !== entry.value) replace(json, entry.path, row.value)
  return {
    rows: all.map(({ row }) => row)
      .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)),
    json
  }
}

const secret = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i

/** A server as written, but for what may be a secret. */
const shownServer = (server: McpServerConfig): McpServerConfig =>
  secretsIn(server).length === 0 ? server : replaceSecrets(server, () => "(hidden)")

const shownValue = ({ path, shown, value }: ConfigEntry): unknown => {
  // One value holds a whole server, checked before it was merged.
  if (path[0] === "mcp" && path.length === 2) return shownServer((shown ?? value) as McpServerConfig)
  if (shown !== undefined) return shown
  const key = path[0] === "telemetry" ? path[1] : path[0] === "provider" ? path[2] : undefined
  // A variable may contain a key.
  if (path[0] === "env" && secret.test(path[1] ?? "")) return "(hidden)"
  if (key === "headers" && typeof value === "string") return "(hidden)"
  if (key === "options" && secret.test(path.at(-1) ?? "")) return "(hidden)"
  if (key === "base_url" || key === "endpoint") return String(value).replace(/\/\/[^/@]*@/, "//(hidden)@")
  return value
}

const replace = (tree: Record<string, unknown>, path: ReadonlyArray<string>, value: unknown): void => {
  const [key, ...rest] = path
  if (key === undefined) return
  const inner = tree[key]
  if (rest.length === 0) tree[key] = value
  else if (isRecord(inner)) replace(inner, rest, value)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
