// @ts-check
// Packs what is released and proves that it can be used: each library declares what it imports, all tarballs install in an
// empty directory, and the program and every module of the libraries run there.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { parseSync } from "oxc-parser"
import { install, pack } from "./install.mjs"

/** @import { Package } from "./packages.mjs" */
/** @import { Tarball } from "./install.mjs" */

/** @param {string} specifier */
const packageOf = (specifier) => specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

/** @param {string} path @returns {ReadonlyArray<string>} */
const importsOf = (path) => {
  const source = readFileSync(path, "utf8")
  const { module } = parseSync(path, source)
  return [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])
    ),
    ...module.dynamicImports.flatMap(({ moduleRequest: { end, start } }) =>
      /^["'](.+)["']$/.exec(source.slice(start, end))?.[1] ?? []
    )
  ]
}

const builtins = new Set(builtinModules)

/**
 * What a library imports without declaring it. The program is one bundle, and what it imports is proved by running it.
 * @param {Tarball} tarball
 * @returns {ReadonlyArray<string>}
 */
export const undeclared = ({ directory, files, name }) => {
  const { bin, dependencies = {}, peerDependencies = {} } = JSON.parse(
    readFileSync(join(directory, "package.json"), "utf8")
  )
  if (bin !== undefined) return []
  const declared = new Set([name, ...Object.keys(dependencies), ...Object.keys(peerDependencies)])
  const found = files.flatMap(({ path }) =>
    /\.(js|d\.ts)$/.test(path)
      ? importsOf(join(directory, path)).map(packageOf).filter((each) =>
        !/^(\.|node:)/.test(each) && !builtins.has(each) && !declared.has(each)
      ).map((each) => `${name}: ${path} imports ${each}, which its package.json does not declare.`)
      : []
  )
  return [...new Set(found)]
}

/** @param {number} bytes */
const size = (bytes) => bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`

/**
 * What a tarball holds: files at the top by name, and folders with how much is in them.
 * @param {Tarball} tarball
 */
const listing = ({ file, files, name, size: packed, unpackedSize }) => {
  /** @type {Map<string, { count: number, bytes: number }>} */
  const folders = new Map()
  for (const each of files) {
    const at = each.path.lastIndexOf("/")
    const folder = at < 0 ? each.path : each.path.slice(0, at + 1)
    const { bytes, count } = folders.get(folder) ?? { bytes: 0, count: 0 }
    folders.set(folder, { bytes: bytes + each.size, count: count + 1 })
  }
  return [
    `${name}  ${size(packed)}, ${size(unpackedSize)} unpacked, ${files.length} files: ${file}`,
    ...[...folders].toSorted(([a], [b]) => a < b ? -1 : 1).map(([folder, { bytes, count }]) =>
      `  ${folder}  ${folder.endsWith("/") ? `${count} files, ` : ""}${size(bytes)}`
    )
  ]
}

/**
 * Runs Node in the project, away from the user's own settings and sessions.
 * @param {string} project
 * @param {ReadonlyArray<string>} args
 */
const node = (project, args) => {
  const home = join(project, "home")
  mkdirSync(home, { recursive: true })
  const { error, status, stderr, stdout } = spawnSync(process.execPath, [...args], {
    cwd: project,
    encoding: "utf8",
    input: "",
    env: { PATH: process.env["PATH"], HOME: home }
  })
  if (status !== 0) {
    throw new Error(`node ${args.join(" ")} failed in ${project}:\n${error?.message ?? ""}${stdout}${stderr}`)
  }
  return stdout
}

/** @param {string} project @param {string} version */
const smokeProgram = (project, version) => {
  const program = join(project, "node_modules", "skein", "bin", "skein.js")
  const said = node(project, [program, "--version"]).trim()
  if (said !== version) throw new Error(`skein --version says ${said}, and the package is ${version}.`)
  node(project, [program, "--help"])
  node(project, [
    program,
    "run",
    "-m",
    "offline/survey",
    "--title",
    "rehearsal",
    "--format",
    "quiet",
    "Survey this directory"
  ])
  if (!node(project, [program, "sessions"]).includes("rehearsal")) {
    throw new Error("skein sessions does not list the session that was just made.")
  }
}

/** Imports each module; one that needs an optional peer, such as vitest, is left out. */
const importAll = `
const optional = new Set(JSON.parse(process.argv[1]))
for (const specifier of JSON.parse(process.argv[2])) {
  await import(specifier).catch((error) => {
    const missing = /Cannot find package '([^']+)'/.exec(error.message)?.[1]
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !optional.has(missing)) throw error
  })
}`

/** @param {string} project @param {Tarball} tarball */
const smokeLibrary = (project, { directory, files, name }) => {
  const { peerDependenciesMeta = {} } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))
  const modules = files.flatMap(({ path }) => {
    const module = /^dist\/([^/]+)\.js$/.exec(path)?.[1]
    return module === undefined ? [] : [`${name}/${module}`]
  })
  const optional = Object.keys(peerDependenciesMeta)
  node(project, ["--input-type=module", "-e", importAll, JSON.stringify(optional), JSON.stringify(modules)])
}

/**
 * Packs these packages below a directory, tries them, and tells what they hold. Returns the tarballs, in the same order.
 * @param {ReadonlyArray<Package>} packages
 * @param {string} directory
 * @param {(line: string) => void} say
 */
export const rehearse = async (packages, directory, say) => {
  say(`Building and packing ${packages.length} packages`)
  const tarballs = await pack(packages, directory)
  const missing = tarballs.flatMap(undeclared)
  if (missing.length > 0) {
    throw new Error(`${missing.join("\n")}\nDeclare it as a dependency, or as a peer where users bring it.`)
  }
  const project = join(directory, "project")
  say(`Installing the tarballs in ${project}`)
  install(project, tarballs)
  for (const [index, { manifest }] of packages.entries()) {
    const tarball = tarballs[index]
    if (tarball === undefined) throw new Error(`npm packed nothing for ${manifest.name}.`)
    say(`Trying ${manifest.name}`)
    if (manifest["bin"] === undefined) smokeLibrary(project, tarball)
    else smokeProgram(project, manifest.version)
  }
  for (const tarball of tarballs) for (const line of listing(tarball)) say(line)
  return tarballs
}
