// @ts-check
// The keys of skein.json: from its JSON Schema, with the defaults that hold.
import { table } from "./table.mjs"

/** @typedef {Readonly<Record<string, any>>} Json */

/** @param {Json} schema @param {Json} defs @returns {string} */
const typeOf = (schema, defs) => {
  if (typeof schema["$ref"] === "string") return typeOf(defs[schema["$ref"].split("/").at(-1) ?? ""] ?? {}, defs)
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => `\`${JSON.stringify(value)}\``).join(", ")
  if (Array.isArray(schema["anyOf"])) {
    return [...new Set(schema["anyOf"].map((each) => typeOf(each, defs)))].join(" or ")
  }
  if (schema["type"] === "array") return `list of ${typeOf(schema["items"] ?? {}, defs)}`
  return schema["type"] ?? "object"
}

const whole = new Set(["permission", "ceiling", "output", "hooks", "claude_hooks", "env", "headers"])

const mayProject = { free: "yes", narrows: "restrict", trust: "if trusted", never: "no" }

/**
 * @param {Json} schema @param {Json} defs @param {Json} defaults
 * @param {(path: ReadonlyArray<string>) => keyof typeof mayProject} mayOf @param {ReadonlyArray<string>} path
 * @returns {ReadonlyArray<ReadonlyArray<string>>}
 */
const rowsOf = (schema, defs, defaults, mayOf, path = []) => {
  const last = path.at(-1) ?? ""
  const standard = path.reduce((value, key) => value?.[key], defaults)
  const own = path.length === 0 || last === "NAME" ? [] : [[
    `\`${path.join(".")}\``,
    last === "permission" || last === "ceiling" ? "rules" : typeOf(schema, defs),
    standard === undefined || typeof standard === "object" ? "" : `\`${JSON.stringify(standard)}\``,
    mayProject[mayOf(path)],
    schema["description"] ?? ""
  ]]
  if (whole.has(last)) return own
  return [
    ...own,
    ...Object.entries(schema["properties"] ?? {}).flatMap(([key, value]) =>
      rowsOf(value, defs, defaults, mayOf, [...path, key])
    ),
    ...[...Object.values(schema["patternProperties"] ?? {}), schema["additionalProperties"]].flatMap((value) =>
      typeof value === "object" ? rowsOf(value, defs, defaults, mayOf, [...path, "NAME"]) : []
    )
  ]
}

/** @returns {Promise<ReadonlyArray<string>>} */
export const configPart = async () => {
  const [{ jsonSchema }, { defaults }, { ConfigInfo }, { declared }, Effect] = await Promise.all([
    import("@skein/config/ConfigSchema"),
    import("@skein/core/Config"),
    import("@skein/domain/ConfigInfo"),
    import("@skein/domain/ConfigKey"),
    import("effect/Effect")
  ])
  const schema = /** @type {Json} */ (await Effect.runPromise(jsonSchema))
  return [
    "## Config",
    "Keys of `skein.json`. NAME stands for any name. Durations are milliseconds, or text such as `\"90s\"`. The column `project` says whether the file of a project may set the key: always, only to restrict, only if you [trust](permissions.md#projects-that-you-do-not-trust) it, or not at all.",
    table(
      ["key", "type", "default", "project", "meaning"],
      rowsOf(
        schema,
        schema["$defs"] ?? {},
        defaults,
        (path) => declared(ConfigInfo.ast, path).rule?.project ?? "trust"
      )
    )
  ]
}
