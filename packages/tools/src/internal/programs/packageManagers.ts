/** Decides when a package manager does what its name says, and when it runs a program named in its arguments. */
import { lookup } from "@skein/domain/Lookup"

/** The commands of each that install, show, or run scripts of the project. All others run or change more than that. */
const own = lookup<ReadonlySet<string>>({
  npm: new Set(
    `add audit bin cache ci clean-install cit dedupe ddp diff dist-tags doctor explain find-dupes fund help i ic in info ins inst
    insta instal install install-ci-test install-clean install-test isntall it la list ll ls org outdated pack ping prefix prune
    publish query r rb rebuild remove restart rm root rum run run-script s sbom se search show shrinkwrap start stop t test tst un
    uninstall unlink up update upgrade urn v version view why whoami`.split(/\s+/)
  ),
  pnpm: new Set(
    `add audit bin dedupe fetch help i import info install install-test it la licenses list ll ls outdated pack prune publish rb
    rebuild recursive remove restart rm root run run-script show start stop store t test tst un uninstall up update upgrade view
    why`.split(/\s+/)
  ),
  yarn: new Set(
    `add audit autoclean bin cache check constraints dedupe explain help import info install licenses list outdated pack rebuild
    remove restart start stop test unlink up upgrade upgrade-interactive version versions why`.split(/\s+/)
  )
})

/** Names of the same command. */
const synonyms = lookup<ReadonlyArray<string>>({
  cargo: ["build b", "check c", "doc d", "remove rm", "run r", "test t"],
  npm: [
    "install add i in ins inst insta instal isnt isnta isntal isntall",
    "ci clean-install ic install-clean isntall-clean",
    "uninstall r remove rm un unlink",
    "run rum run-script urn",
    "test t tst",
    "exec x",
    "update udpate up upgrade"
  ],
  pnpm: ["install i", "remove rm un uninstall", "run run-script", "test t", "update up upgrade"]
})

/** The other names of a command of a package manager. */
export const otherNames = (manager: string, command: string): ReadonlyArray<string> =>
  synonyms[manager]?.map((each) => each.split(" ")).find((names) => names.includes(command))?.filter((each) =>
    each !== command
  ) ?? []

/** Names that only scripts have: no program has such a name. */
const isScript = (text: string): boolean =>
  /^[\w-]+(?::[\w-]+)+$/.test(text) ||
  /^(?:build|check|check-types|ci|clean|compile|coverage|deploy|dev|docs?|e2e|fix|format|generate|lint|lint-fix|prebuild|preview|release|serve|storybook|test-\w+|type-?check|types|validate|verify|watch)$/
    .test(text)

/** Where the arguments of a script begin, for managers that pass on all words behind its name. */
export const scriptArguments = (manager: string, words: ReadonlyArray<string>): number | undefined => {
  if (manager !== "pnpm" && manager !== "yarn") return undefined
  const [first = "", second = ""] = words
  if (first === "run") return /^[\w:.-]+$/.test(second) ? 2 : undefined
  return isScript(first) || /^(?:start|t|test)$/.test(first) ? 1 : undefined
}

/** The name of the program that a manager would run; undefined for one of its own commands. */
export const carriedBy = (manager: string, operands: ReadonlyArray<string>): string | undefined => {
  const [sub, ...rest] = operands
  const commands = own[manager]
  if (commands === undefined || sub === undefined || (manager !== "npm" && isScript(sub))) return undefined
  if (manager === "yarn" && sub === "workspace" && rest.length > 1) return carriedBy(manager, rest.slice(1))
  // Yarn runs a script of this name, or else a program of a package.
  if (manager === "yarn" && sub === "run") return carriedBy(manager, rest)
  return commands.has(sub) ? undefined : sub
}
