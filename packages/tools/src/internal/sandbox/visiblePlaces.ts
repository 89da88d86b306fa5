/**
 * Decides what a sandboxed command sees of the machine besides its tree: the system, toolchains, and what the user
 * adds.
 */
import * as NodeFs from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { attempt, isIn, namesIn, textOf } from "../disk.ts"
import type { World } from "./bwrapArguments.ts"

/** Consent to one of these, not to what is in it, shows what the sandbox has there. */
const own = new Set(["/", "/run", "/tmp"])

/** In these, everything is the sandbox's own. */
const whole = ["/dev", "/proc", "/run"]

/** Drives that are plugged in. */
const drives = "/run/media"

/** Whether a real path is the sandbox's own, so that consent to it shows nothing of the machine. */
export const isClosed = (path: string): boolean =>
  own.has(path) || (whole.some((each) => isIn(path, each)) && !(isIn(path, drives) && path !== drives))

const isSocket = (path: string): boolean =>
  attempt(() => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() ?? false, false)

/**
 * The absolute, real paths of open sockets in this network namespace. Sockets with relative paths, and those of
 * containers, are not found.
 */
export const openSockets = (): ReadonlyArray<string> => {
  const lines = textOf("/proc/net/unix").split("\n")
  const paths = lines.flatMap((line) => /^(?:\S+ +){6}\S+ (\/.*)$/.exec(line)?.[1] ?? [])
  return [...new Set(paths)].filter(isSocket).flatMap((path) => {
    const real = attempt(() => join(NodeFs.realpathSync(dirname(path)), basename(path)), "")
    return real === "" ? [] : [real]
  })
}

/** The system. Files in it that other users could not read are hidden. */
const system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap"]
  // Runtimes read their number of processors and their memory here. Each further mount below /sys costs time.
  .concat(["/sys/devices/system", "/sys/fs/cgroup"])

/**
 * Where toolchains and their downloads are in a home. Credentials next to them (`.cargo/credentials.toml`) are left
 * out.
 */
const ofHome =
  `.asdf .bun .cabal/packages .cargo/bin .cargo/git .cargo/registry .cargo/env .deno .dotnet .fnm .gem/ruby .ghcup
  .goenv .gradle/caches .gradle/wrapper .local/bin .local/lib .local/pipx .local/share/fnm .local/share/mise/installs
  .local/share/pipx .local/share/pnpm .local/share/uv .m2/repository .n .nodenv .npm/_cacache .nuget/packages .nvm
  .opam .pub-cache/hosted .pyenv .rbenv .rustup .rvm .sdkman .stack/programs .volta go/bin go/pkg miniconda3`.split(
    /\s+/
  )

/** How deep, and how many entries, to search below /etc for entries that not everybody may read. */
const privateIn = { directory: "/etc", depth: 3, most: 5_000 } as const

/** How many links in a directory of programs are followed. */
const mostLinks = 500

const real = (path: string): string | undefined => attempt(() => NodeFs.realpathSync(path), undefined)

const isDirectory = (path: string): boolean => attempt(() => NodeFs.statSync(path).isDirectory(), false)

/** What belongs to a directory of programs: a `bin` belongs to its parent. */
const packageOf = (programs: string, home: string | undefined): string => {
  const parent = dirname(programs)
  const isPart = /^(?:s?bin|shims|\.bin)$/.test(basename(programs)) && parent !== "/" && parent !== home
  return isPart && !(home !== undefined && dirname(parent) === home && basename(parent).startsWith("."))
    ? parent
    : programs
}

/** The targets of links in a directory of programs. */
const linkedFrom = (programs: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(programs, { withFileTypes: true }), [])
    .filter((entry) => entry.isSymbolicLink()).slice(0, mostLinks)
    .flatMap(({ name }) => {
      const target = real(join(programs, name))
      return target === undefined ? [] : [dirname(target)]
    })

/** The files below /etc that only root may read: root in a sandbox could, and nobody else can anyway. */
const hiddenOfSystem = (): ReadonlyArray<string> => {
  if (process.getuid?.() !== 0) return []
  const found: Array<string> = []
  let looked = 0
  const look = (directory: string, depth: number): void => {
    for (const name of namesIn(directory)) {
      if (looked++ > privateIn.most) return
      const path = join(directory, name)
      const stat = attempt(() => NodeFs.lstatSync(path), undefined)
      if (stat === undefined || stat.isSymbolicLink()) continue
      if ((stat.mode & 0o004) === 0) found.push(path)
      else if (stat.isDirectory() && depth > 1) look(path, depth - 1)
    }
  }
  look(privateIn.directory, privateIn.depth)
  return found
}

/** What a command sees. All paths are absolute. */
interface VisiblePlaces extends World {
  /** Toolchains and what the user adds. They are shown over the hidden home. */
  readonly toolchains: ReadonlyArray<string>
  /** Those of them that the user adds. */
  readonly added: ReadonlyArray<string>
  /** Hidden paths in them. */
  readonly hidden: ReadonlyArray<string>
}

/** Inspects the machine, once for each process. */
export const visiblePlaces = (options: {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly home: string | undefined
  /** What the user adds, absolute or with `~/`. */
  readonly read: ReadonlyArray<string>
  /** The program that runs Skein. */
  readonly program: string
}): VisiblePlaces => {
  const { environment, home, program, read } = options
  const links = system.flatMap((path) => {
    const to = attempt(() => NodeFs.readlinkSync(path), undefined)
    return to === undefined ? [] : [[path, to] as const]
  })
  const seen = system.filter((path) => NodeFs.existsSync(path))
  const paths = (environment["PATH"] ?? "").split(":").filter((path) => path.startsWith("/"))
  const isTooMuch = (path: string) => path === "/" || (home !== undefined && isIn(home, path))
  const programs = [...paths, dirname(program)].filter((path) => !seen.some((each) => isIn(path, each)))
  const linked = programs.flatMap(linkedFrom).filter((path) => !seen.some((each) => isIn(path, each)))
  const inHome = home === undefined ? [] : ofHome.map((name) => join(home, name))
  const added = read.map((path) =>
    home !== undefined && /^~(?=\/|$)/.test(path) ? join(home, path.slice(1)) : resolve(path)
  )
  const toolchains = [...programs, ...linked].map((path) => packageOf(path, home))
    .filter((path) => !isTooMuch(path) && isDirectory(path))
  const all = [...toolchains, ...inHome, ...added].filter((path) => NodeFs.existsSync(path))
  // A link would be broken in the sandbox, so its target is shown under both names.
  const both = all.flatMap((path) => [path, real(path) ?? path]).filter((path) =>
    !seen.some((each) => isIn(path, each))
  )
  return {
    system: seen.filter((path) => !links.some(([link]) => link === path)),
    links,
    isRoot: process.getuid?.() === 0,
    toolchains: outermost(both),
    added: added.filter((path) => NodeFs.existsSync(path)),
    hidden: hiddenOfSystem()
  }
}

/** Without paths that are inside another one. */
export const outermost = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(paths)].filter((path, _, all) => !all.some((other) => other !== path && isIn(path, other)))

/** The maximum number of packages that are followed. */
const mostPackages = 200

const isPackage = (directory: string): boolean => NodeFs.existsSync(join(directory, "package.json"))

const packageAround = (directory: string): string | undefined =>
  isPackage(directory) ? directory : dirname(directory) === directory ? undefined : packageAround(dirname(directory))

const dependenciesOf = (directory: string): ReadonlyArray<string> =>
  attempt(() => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      NodeFs.readFileSync(join(directory, "package.json"), "utf8")
    )
    return Object.keys({ ...dependencies, ...optionalDependencies })
  }, [])

/** Where Node finds a package that is imported from a directory. */
const resolved = (name: string, directory: string): string | undefined => {
  const place = join(directory, "node_modules", name)
  if (isPackage(place)) return attempt(() => NodeFs.realpathSync(place), place)
  return dirname(directory) === directory ? undefined : resolved(name, dirname(directory))
}

/** The package of a file, and all its dependencies; none if it was not installed as a package. */
export const installedPackages = (file: string): ReadonlyArray<string> => {
  const first = packageAround(dirname(file))
  if (first === undefined || !/\/node_modules\//.test(first)) return []
  const found = new Set([first])
  for (const each of found) {
    if (found.size > mostPackages) break
    for (const name of dependenciesOf(each)) {
      const place = resolved(name, each)
      if (place !== undefined) found.add(place)
    }
  }
  return [...found]
}
