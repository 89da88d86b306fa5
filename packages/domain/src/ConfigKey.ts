/** Declares the keys of config: what each means, and how far the file of a project may set it without the user's trust. */
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/**
 * How far a project's file may set a key:
 * - `free`: always, such as a text or a name
 * - `narrows`: where it restricts what the user grants, else with trust
 * - `trust`: only with trust
 * - `never`: not even with trust
 */
export interface ProjectRule {
  readonly project: "free" | "narrows" | "trust" | "never"
  /**
   * What narrows: a lower `amount`, `rules` and `tools` that allow less, a model of the user's `vendor`, a later one of
   * these values, what the user left `unset`, and keys of an agent that is the project's `own`, or that the user's config
   * leaves `alone`.
   */
  readonly by?: "amount" | "rules" | "tools" | "vendor" | "unset" | "own" | "alone" | ReadonlyArray<unknown>
  /** What the user grants by saying nothing. If neither this nor a default is known, any amount narrows. */
  readonly standard?: unknown
  /** The key whose value is granted if the user says nothing. */
  readonly like?: string
  /** Whether what does not narrow cannot be trusted either. */
  readonly never?: true
  /** Whether all of its value is one text, without keys of config in it. */
  readonly whole?: true
}

/** Always. */
export const free: ProjectRule = { project: "free" }
/** Only with trust. */
export const trust: ProjectRule = { project: "trust" }
/** Not even with trust. */
export const never: ProjectRule = { project: "never" }
/** Where it restricts. */
export const narrows = (by: ProjectRule["by"], more: Omit<ProjectRule, "project" | "by"> = {}): ProjectRule => ({
  project: "narrows",
  ...(by === undefined ? {} : { by }),
  ...more
})

const RuleID = Symbol.for("@skein/domain/ConfigKey/rule")

/** An optional key. A project needs trust for a key that declares no rule. */
export const key = <S extends Schema.Schema.Any>(
  schema: S,
  rule: ProjectRule,
  description: string
): Schema.optional<S> => Schema.optional(schema).annotations({ description, [RuleID]: rule })

/** A key that is optional in config, and has a value in settings. */
export const setting = <S extends Schema.Schema.Any>(
  schema: S,
  rule: ProjectRule,
  description: string
): Schema.propertySignature<S> => Schema.propertySignature(schema).annotations({ description, [RuleID]: rule })

/** What a schema says of the value at a path. */
export interface DeclaredKey {
  readonly rule: ProjectRule | undefined
  /** The keys of its value, if it is an object with known ones. */
  readonly keys: ReadonlyArray<string>
}

/** What the schema declares for a path. The entries of a record with any keys have the rule of the record. */
export const declared = (ast: AST.AST, path: ReadonlyArray<string>): DeclaredKey => {
  let type = objectOf(ast)
  let rule: ProjectRule | undefined
  for (const name of path) {
    if (rule?.whole === true) break
    const property = type?.propertySignatures.find((each) => each.name === name)
    // Below an unknown key, nothing is declared.
    if (property === undefined && type?.indexSignatures[0] === undefined) {
      return { rule: type === undefined ? rule : undefined, keys: [] }
    }
    if (property !== undefined) rule = property.annotations[RuleID] as ProjectRule | undefined
    type = objectOf(property?.type ?? type?.indexSignatures[0]?.type)
  }
  return { rule, keys: type?.propertySignatures.map((each) => String(each.name)) ?? [] }
}

const objectOf = (ast: AST.AST | undefined): AST.TypeLiteral | undefined => {
  switch (ast?._tag) {
    case "TypeLiteral":
      return ast
    case "Refinement":
    case "Transformation":
      return objectOf(ast.from)
    case "Union":
      return ast.types.map(objectOf).find((type) => type !== undefined)
    default:
      return undefined
  }
}
