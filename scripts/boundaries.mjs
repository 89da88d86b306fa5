// @ts-check
// The architecture check: which package may import which, how it must import, and which calls are banned where.
// `node scripts/boundaries.mjs [directory]` prints one line for each violation: file:line, rule, what is wrong, how to fix it.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { parseSync } from "oxc-parser"
import { bans } from "./bans.mjs"
import { arrow, floors, indexes, known, maximumLines, pure } from "./boundaryRules.mjs"
import { fileCircles, roomCircles, stairs } from "./circles.mjs"
import { longFunctions, maximumClosure } from "./closures.mjs"
import { root } from "./layout.mjs"
import { isBuiltIn } from "./release/packages.mjs"
import { isNode, walk } from "./syntax.mjs"

/**
 * @typedef {{ readonly file: string, readonly line: number, readonly rule: string, readonly message: string }} Violation
 * @typedef {{ readonly specifier: string, readonly start: number }} Import
 * @typedef {import("./syntax.mjs").Node} Node
 * @typedef {import("./boundaryRules.mjs").Exempt} Exempt
 * @typedef {{ readonly name?: string, readonly dependencies?: object, readonly peerDependencies?: object, readonly devDependencies?: object }} Manifest
 */

/** @param {unknown} node */
const text = (node) => isNode(node) && typeof node["value"] === "string" ? node["value"] : undefined

/** @param {unknown} node */
const name = (node) => isNode(node) && typeof node["name"] === "string" ? node["name"] : undefined

/**
 * `object.property`, also when written `object["property"]`.
 * @param {Node} node
 */
const member = (node) => {
  const object = name(node["object"])
  const property = node["computed"] === true ? text(node["property"]) : name(node["property"])
  return object === undefined || property === undefined ? undefined : `${object}.${property}`
}

/**
 * What a node uses that may be banned: `Effect.orDie`, `setTimeout()`, `new Date()`, a name imported from a module.
 * @param {Node} node
 * @returns {ReadonlyArray<string>}
 */
const uses = (node) => {
  const callee = name(node["callee"])
  switch (node.type) {
    case "MemberExpression": {
      const used = member(node)
      return used === undefined ? [] : [used.startsWith("globalThis.") ? `${used.slice("globalThis.".length)}()` : used]
    }
    case "CallExpression": {
      const method = isNode(node["callee"]) ? name(node["callee"]["property"]) : undefined
      const isSpread = Array.isArray(node["arguments"]) &&
        node["arguments"].some(({ type }) => type === "SpreadElement")
      return [...callee === undefined ? [] : [`${callee}()`], ...isSpread && method ? [`${method}(...)`] : []]
    }
    case "NewExpression":
      return callee === "Date" && Array.isArray(node["arguments"]) && node["arguments"].length === 0
        ? ["new Date()"]
        : []
    case "ImportDeclaration": {
      const module = text(node["source"]) ?? ""
      const specifiers = Array.isArray(node["specifiers"]) ? node["specifiers"] : []
      return [
        module,
        ...specifiers.map((specifier) =>
          `${module.split("/").at(-1)?.replace(/^node:/, "")}.${name(specifier.imported)}`
        )
      ]
    }
    default:
      return []
  }
}

const importing = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType"
])
const reexporting = new Set(["ExportAllDeclaration", "ExportNamedDeclaration"])

/** @param {string} specifier */
const packageOf = (specifier) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

/** @param {string} directory @returns {ReadonlyArray<string>} */
const sources = (directory) =>
  existsSync(directory)
    ? readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.name !== "node_modules" && entry.name !== "dist")
      .flatMap((entry) => {
        const path = join(directory, entry.name)
        return entry.isDirectory() ? sources(path) : /\.[cm]?tsx?$/.test(entry.name) ? [path] : []
      })
    : []

/** @param {string} path @returns {Manifest} */
const manifest = (path) => existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {}

/**
 * Every violation in a workspace, by file and line.
 * @param {string} workspace its top directory
 * @param {Exempt} exempt
 * @returns {ReadonlyArray<Violation>}
 */
export const check = (workspace, exempt = known) => {
  /** @type {Array<Violation>} */
  const violations = []
  /** @type {Array<import("./circles.mjs").Edge>} */
  const edges = []
  /** @param {keyof Exempt} rule @param {string} file */
  const isExempt = (rule, file) => exempt[rule].some((each) => file === each || file.startsWith(`${each}/`))
  const shared = Object.keys(manifest(join(workspace, "package.json")).devDependencies ?? {})
  const packages = join(workspace, "packages")
  const names = existsSync(packages)
    ? readdirSync(packages).filter((entry) => existsSync(join(packages, entry, "package.json")))
    : []

  /**
   * @param {string} path
   * @param {string} home the directory that its relative imports must stay in
   * @param {string | undefined} owner the package, undefined for the tests of the whole
   * @param {boolean} isTest
   * @param {ReadonlySet<string>} declared
   */
  const checkFile = (path, home, owner, isTest, declared) => {
    const source = readFileSync(path, "utf8")
    const file = relative(workspace, path).split(sep).join("/")
    /** @param {number} offset @param {string} rule @param {string} message */
    const report = (offset, rule, message) => {
      const line = source.slice(0, offset).split("\n").length
      if (violations.some((each) => each.file === file && each.line === line && each.message === message)) return
      violations.push({ file, line, rule, message })
    }
    const { errors, program } = parseSync(path, source)
    for (const error of errors) report(error.labels[0]?.start ?? 0, "syntax", `${error.message}. Fix the syntax.`)

    const lines = source.trimEnd().split("\n").length
    if (!isTest && lines > maximumLines) {
      report(
        source.trimEnd().length,
        "file-size",
        `${lines} lines, and ${maximumLines} is the most. Move a part that has a name into a file of that name.`
      )
    }

    /** @type {Array<Import>} */
    const imports = []
    walk(program, (node) => {
      const specifier = importing.has(node.type) ? text(node["source"]) : undefined
      if (specifier !== undefined) imports.push({ specifier, start: node.start })
      if (isTest) return
      for (const used of uses(node)) {
        const ban = bans.find(({ uses: banned, within = [""] }) =>
          banned.includes(used) && within.some((directory) => file.startsWith(directory))
        )
        if (ban === undefined || (ban.allow ?? []).some((allowed) => file.startsWith(allowed))) continue
        report(node.start, "banned", `${used.replace("()", "")} ${ban.why}. ${ban.fix}.`)
      }
    })

    /** @param {number} offset */
    const lineOf = (offset) => source.slice(0, offset).split("\n").length
    /** @param {Node} node */
    const linesOf = ({ end, start }) => source.slice(start, end).split("\n").length
    for (const node of isTest || isExempt("closures", file) ? [] : longFunctions(program, linesOf)) {
      report(
        node.start,
        "closure",
        `A function of ${linesOf(node)} lines, and ${maximumClosure} is the most. Make it of steps that have names.`
      )
    }

    const statements = /** @type {ReadonlyArray<Node>} */ (/** @type {unknown} */ (program.body))
    const reexports = statements.filter((node) => reexporting.has(node.type) && text(node["source"]) !== undefined)
    const [firstReexport] = reexports
    const star = reexports.find((node) => node.type === "ExportAllDeclaration")
    if (!isTest && firstReexport !== undefined && (star !== undefined || reexports.length === statements.length)) {
      report(
        (star ?? firstReexport).start,
        "barrel",
        "A module that only passes others on hides where a name lives, and loads all of them. Let each importer name the module it needs."
      )
    }

    for (const { specifier, start } of imports) {
      if (specifier.startsWith(".")) {
        const target = resolve(dirname(path), specifier)
        if (relative(home, target).startsWith("..") || (owner === undefined && target.startsWith(packages + sep))) {
          report(
            start,
            "relative",
            `"${specifier}" leaves the package. Import "@skein/<package>/<File>", and declare the dependency.`
          )
        } else if (!isTest) {
          const to = relative(workspace, target).split(sep).join("/")
          if (!isExempt("circles", file) && !isExempt("circles", to)) {
            edges.push({ from: file, to, line: lineOf(start) })
          }
        }
        continue
      }
      if (indexes.test(specifier)) {
        report(
          start,
          "sub-path",
          `"${specifier}" loads the whole package. Import a module of it, as in "${specifier}/<File>".`
        )
      }
      const dependency = packageOf(specifier)
      const target = /^@skein\/(.+)$/.exec(dependency)?.[1]
      if (target !== undefined) {
        if (specifier.startsWith(`${dependency}/internal/`)) {
          report(
            start,
            "internal",
            `"${specifier}" is internal to ${dependency}. Use what the package exports, or export what is missing there.`
          )
        }
        if (isTest || owner === undefined || target === owner) continue
        if (target === "testing") {
          report(
            start,
            "testing",
            "Only tests import @skein/testing. Move what is needed at run time into the package that owns it."
          )
        } else if (!(arrow[owner] ?? []).includes(target)) {
          report(
            start,
            "arrow",
            `${owner} may not import ${target}; it may import ${
              (arrow[owner] ?? []).join(", ") || "no other package"
            }. `
              + "Let core declare a port, implement it in the one, and bring both together in the command line program or the server."
          )
        }
      } else if (!isTest && owner !== undefined && owner in pure) {
        if (!(pure[owner] ?? []).includes(dependency)) {
          report(
            start,
            "pure",
            `${owner} knows no vendor, SQL, HTTP or process, so it may not import "${specifier}". Declare a port here, and implement it in a package above.`
          )
          continue
        }
      }
      if (!specifier.startsWith("node:") && !declared.has(dependency) && !(isTest && target !== undefined)) {
        const where = owner === undefined ? "package.json" : `packages/${owner}/package.json`
        report(start, "undeclared", `"${dependency}" is not declared. Add it to ${where}, or stop importing it.`)
      }
    }
    return imports.map(({ specifier }) => packageOf(specifier))
  }

  for (const owner of names) {
    const home = join(packages, owner)
    const path = join(home, "package.json")
    const { dependencies = {}, devDependencies = {}, name: published = "", peerDependencies = {} } = manifest(path)
    const bundled = Object.keys(devDependencies).filter((dependency) => isBuiltIn(published, dependency))
    const own = [
      published,
      `@skein/${owner}`,
      ...Object.keys(dependencies),
      ...Object.keys(peerDependencies),
      ...bundled
    ]
    if (!(owner in arrow)) {
      violations.push({
        file: `packages/${owner}/package.json`,
        line: 1,
        rule: "arrow",
        message: `The arrow does not know the package ${owner}. Say in scripts/boundaries.mjs what it may import.`
      })
    }
    const used = new Set(
      sources(join(home, "src")).flatMap((file) => checkFile(file, home, owner, false, new Set(own)))
    )
    for (const dependency of [...Object.keys(dependencies), ...bundled]) {
      if (!dependency.startsWith("@skein/") || used.has(dependency)) continue
      const line = readFileSync(path, "utf8").split("\n").findIndex((declaration) =>
        declaration.includes(`"${dependency}"`)
      ) + 1
      const message =
        `"${dependency}" is declared, and no source imports it. Remove it here and from the references in tsconfig.json.`
      violations.push({ file: `packages/${owner}/package.json`, line, rule: "unused", message })
    }
    const forTests = new Set([...own, ...Object.keys(devDependencies), ...shared])
    for (const file of sources(join(home, "test"))) checkFile(file, home, owner, true, forTests)
  }
  for (const file of sources(join(workspace, "test"))) checkFile(file, workspace, undefined, true, new Set(shared))

  for (const { edge: { from, line }, way } of fileCircles(edges)) {
    const message = `${way.join(" -> ")}: these files import each other. Move what both need into a file of its own.`
    violations.push({ file: from, line, rule: "circle", message })
  }
  for (const { edge: { from, line }, way } of roomCircles(edges)) {
    const message = `${
      way.join(" -> ")
    }: these rooms import each other. Move what both need into the one below, or into a room of its own.`
    violations.push({ file: from, line, rule: "rooms", message })
  }

  for (const { edge: { from, line }, message } of stairs(edges, floors)) {
    violations.push({ file: from, line, rule: "floors", message })
  }

  return violations.toSorted((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const violations = check(resolve(process.argv[2] ?? root))
  for (const { file, line, message, rule } of violations) console.log(`${file}:${line}  ${rule}: ${message}`)
  if (violations.length > 0) process.exitCode = 1
}
