/** Defines permission rules, sets of rules, and their form in the config. */
import * as Schema from "effect/Schema"

/** What a rule does with a call that it matches. */
export const Action = Schema.Literal("allow", "ask", "deny")
/** The type of a rule's action. */
export type Action = typeof Action.Type

const written = { permission: Schema.NonEmptyString, pattern: Schema.String, action: Action }

/** One rule: `permission` and `pattern` are wildcards, the last rule that matches decides. */
export const Rule = Schema.Struct({
  ...written,
  /** Where it is written: a file with its line, or a flag. Absent for rules that are built in or given by a program. */
  origin: Schema.optional(Schema.String)
})
/** The type of a rule. */
export interface Rule extends Schema.Schema.Type<typeof Rule> {}

/** Rules in the order in which they apply; the last match wins. */
export const Ruleset = Schema.Array(Rule)
/** The type of a set of rules. */
export type Ruleset = typeof Ruleset.Type

/**
 * Rules in the config: `{ "edit": "deny", "bash": { "*": "ask", "git status": "allow" } }`, one action for all, or a
 * list of rules. Only the list keeps the order of rules from several files.
 */
export const PermissionConfig = Schema.Union(
  Action,
  Schema.Record({
    key: Schema.NonEmptyString,
    value: Schema.Union(Action, Schema.Record({ key: Schema.String, value: Action }))
  }),
  Schema.Array(Schema.Struct(written))
)
/** The type of rules in config. */
export type PermissionConfig = typeof PermissionConfig.Type

/** Turns rules from the config into a ruleset, in the order in which they are written. */
export const fromConfig = (config: PermissionConfig): Ruleset => {
  if (typeof config === "string") return [{ permission: "*", pattern: "*", action: config }]
  if (isRuleset(config)) return config
  return Object.entries(config).flatMap(([permission, value]): Ruleset =>
    typeof value === "string"
      ? [{ permission, pattern: "*", action: value }]
      : Object.entries(value).map(([pattern, action]) => ({ permission, pattern, action }))
  )
}

const isRuleset = (config: PermissionConfig): config is Extract<PermissionConfig, ReadonlyArray<unknown>> =>
  Array.isArray(config)
