// @ts-check
// What stands in the way of a release of this workspace, each with how to fix it.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { packagesOf } from "./packages.mjs"

/** Digits with dots between them, and perhaps a word for a version that is not final: as semver.org has it, without builds. */
const semver = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

/** @param {string} workspace @returns {ReadonlyArray<string>} */
const ofTree = (workspace) => {
  const { error, status, stderr, stdout } = spawnSync("git", ["status", "--porcelain"], {
    cwd: workspace,
    encoding: "utf8"
  })
  if (status !== 0) {
    return [`git status failed: ${error?.message ?? stderr.trim()}\n  A release is made from a clone: run it there.`]
  }
  const changed = stdout.split("\n").filter((line) => line !== "")
  if (changed.length === 0) return []
  const more = changed.length > 10 ? [`… and ${changed.length - 10} more`] : []
  return [
    `The tree is not clean:\n    ${
      [...changed.slice(0, 10), ...more].join("\n    ")
    }\n  Commit these, or move them away with git stash -u.`
  ]
}

/** @param {string} workspace @returns {ReadonlyArray<string>} */
const ofVersions = (workspace) => {
  const packages = packagesOf(workspace)
  const versions = new Map(packages.map(({ manifest }) => [manifest.name, manifest.version]))
  const [version] = [...versions.values()].toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }))
  if (version === undefined) return ["There is no package below packages that is published."]
  const lockPath = join(workspace, "package-lock.json")
  const locked = existsSync(lockPath) ? JSON.parse(readFileSync(lockPath, "utf8")).packages : {}
  const all = packages.flatMap(({ directory, manifest }) => {
    const path = relative(workspace, directory).replaceAll("\\", "/")
    const file = `${path}/package.json`
    const { dependencies = {}, devDependencies = {} } = manifest
    const siblings = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => versions.has(name))
    return [
      ...semver.test(manifest.version)
        ? []
        : [`${file}: version ${manifest.version} is no semver version. Write it as 1.2.3 or 1.2.3-beta.1.`],
      ...manifest.version === version
        ? []
        : [`${file}: version is ${manifest.version}, but other packages have ${version}. Set "version" to ${version}.`],
      ...siblings.filter(([, wanted]) => wanted !== version).map(([name, wanted]) =>
        `${file}: asks for ${name} ${wanted}, but it is released as ${version}. Set it to ${version}.`
      ),
      ...locked[path]?.version === manifest.version
        ? []
        : [
          `package-lock.json: has ${
            locked[path]?.version ?? "nothing"
          } for ${path}, which is ${manifest.version}. Run npm install --package-lock-only.`
        ]
    ]
  })
  return [...all, ...ofChangelog(workspace, version)]
}

/** @param {string} workspace @param {string} version @returns {ReadonlyArray<string>} */
const ofChangelog = (workspace, version) => {
  const path = join(workspace, "CHANGELOG.md")
  if (!existsSync(path)) return []
  const has = readFileSync(path, "utf8").split("\n").some((line) =>
    line.replace(/^#+\s*/, "").split(/\s/)[0] === version && line.startsWith("#")
  )
  return has ? [] : [`CHANGELOG.md has no heading for ${version}. Add "## ${version}" with what changes for users.`]
}

/**
 * Every problem of a workspace; none where it can be released.
 * @param {string} workspace
 */
export const problemsOf = (workspace) => [...ofTree(workspace), ...ofVersions(workspace)]
