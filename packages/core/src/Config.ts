/** Owns the settings of this process, and the origin of each that comes from a file. */
import type { Compaction, ConfigInfo, Deadlines, EventLog, Limits, Retry } from "@skein/domain/ConfigInfo"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** Config with a value for every required key. */
export interface Settings
  extends Omit<ConfigInfo, "limits" | "deadlines" | "retry" | "compaction" | "events" | "default_agent">
{
  readonly default_agent: string
  readonly limits: Limits
  readonly deadlines: Deadlines
  readonly retry: Retry
  readonly compaction: Compaction
  readonly events: EventLog
}

/** The defaults. `limits.requests` defaults to `limits.process_concurrency`. Durations are in milliseconds. */
export const defaults: Settings = {
  default_agent: "build",
  limits: {
    subagent_depth: 3,
    concurrency: 16,
    process_concurrency: 64,
    requests: 64,
    max_tasks: 256,
    program_tasks: 10_000,
    subagent_steps: 100,
    answer: { calls: 200, text: 2_000_000, arguments: 1_000_000, nesting: 100 }
  },
  deadlines: { connect: 30_000, first_event: 120_000, idle: 120_000 },
  retry: { attempts: 5, base: 2_000, max_delay: 30_000, max_retry_after: 3_600_000 },
  compaction: { auto: true, threshold: 0.9 },
  events: { keep: 30 * 24 * 3_600_000 }
}

/** The keys that have a value. */
const given = <A extends object>(value: A | undefined): { [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, each]) => each !== undefined)) as {
    [K in keyof A]?: Exclude<A[K], undefined>
  }

const settleLimits = (config: ConfigInfo["limits"]): Limits => {
  const limits = { ...defaults.limits, ...given(config) }
  const answer = { ...defaults.limits.answer, ...given(config?.answer) }
  return { ...limits, answer, requests: config?.requests ?? limits.process_concurrency }
}

/** Merges config over the defaults. */
export const settle = (config: ConfigInfo): Settings => ({
  ...config,
  default_agent: config.default_agent ?? defaults.default_agent,
  limits: settleLimits(config.limits),
  deadlines: { ...defaults.deadlines, ...given(config.deadlines) },
  retry: { ...defaults.retry, ...given(config.retry) },
  compaction: { ...defaults.compaction, ...given(config.compaction) },
  events: { ...defaults.events, ...given(config.events) }
})

/** The origin of every setting that has a default. */
const originsOf = (
  config: Readonly<Record<string, unknown>>,
  standard: Readonly<Record<string, unknown>> = { ...defaults },
  above = ""
): Readonly<Record<string, string>> =>
  Object.entries(standard).reduce<Record<string, string>>((origins, [key, value]) => {
    const said = config[key]
    return typeof value === "object"
      ? Object.assign(origins, originsOf(Object(said), { ...value }, `${above}${key}.`))
      : Object.assign(origins, { [`${above}${key}`]: said === undefined ? "default" : "config" })
  }, {})

/** The settings of this process. */
export class Config extends Context.Tag("@skein/core/Config")<Config, {
  /** All settings, with defaults filled in. */
  readonly settings: Settings
  /**
   * The origin of a value by its path (`limits.concurrency`): a file, a flag, `config` if code set it, or `default`.
   */
  readonly origins: Readonly<Record<string, string>>
  /** The paths of the values that the files of a project set; without it, all settings are the user's own. */
  readonly projectKeys?: ReadonlySet<string>
}>() {
  /** Settings from a value, for embedders and tests. */
  static readonly layer = (config: ConfigInfo = {}): Layer.Layer<Config> =>
    Layer.succeed(Config, { settings: settle(config), origins: originsOf({ ...config }) })
}
