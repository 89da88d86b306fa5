/**
 * Judges programs that no list contains. Any of them may run the program that its arguments name, as `setpriv` does, or
 * the text that it reads, as `linux64` does.
 */
import { lookup } from "@skein/domain/Lookup"
import { hasSubcommands, nameInTables, tableFor } from "../programs/programs.ts"
import { namesSubcommands, runsText } from "./offers.ts"
import { isBuiltin, isInterpreter, isListed, judge, type Judged } from "./risks.ts"
import { builtinRisks } from "./textRisks.ts"
import type { Argument } from "./words.ts"
import { programName, unwrap } from "./wrappers.ts"

/** Programs without a table that run no program that they are given. */
const harmless = new Set(
  `apk apt-cache apt-get bc biome black cal chgrp chown clear cloc csvlook dig dnf dot dprint eslint factor ffprobe
  fuser gcov getent getfacl host htop identify ifconfig isort jest kill killall ldconfig lsmod lspci lsusb mdcat
  mkfifo mktemp mocha mount netstat nm nslookup objdump oxlint pacman pbcopy pbpaste ping pkill playwright pstree
  pylint pyright pytest readelf ruff say shellcheck shfmt size ss standard stylelint tidy tokei tsc traceroute
  vitest whereis whatis wl-copy wl-paste xclip xsel yamllint zcat zgrep zstdcat`.split(/\s+/)
)

/** Whether nothing is known about a program, so that it may run its arguments. */
export const mayWrap = (program: string): boolean => {
  const name = nameInTables(program)
  const isKnown = tableFor(name) !== undefined || hasSubcommands(name) || isBuiltin(name) || builtinRisks.has(name) ||
    unwrap(name, []) !== undefined || isInterpreter(name) ||
    (!/^(?:composer|dotnet|rustup)$/.test(name) && (isListed(name) || namesSubcommands(name)))
  return !isKnown && !harmless.has(name) && name !== "find"
}

/** Programs that run files of the project: what builds, tests, checks or packs it, by its own instructions. */
const runners = new Set(
  `act ant astro ava b2 bazel bazelisk behave bmake buck buck2 bun bundle cabal cargo cmake composer conan cpack ctest cucumber cypress
  dagger docker-compose doit dotnet dune earthly eslint fab gmake gradle gradlew grunt gulp hatch inv invoke jake jest just karma
  knip lefthook lein lerna mage make maturin meson mill mise mix mkdocs mocha msbuild mvn mvnd mvnw mypy next ng ninja nox npm nx
  nyc opam paver pdm phpunit pip pip3 playwright pnpm poetry pre-commit prettier prove py.test pylint pytest rake rebar3 robot
  rollup rspec rubocop samu sbt scons shake sphinx-build stack storybook stylelint swift tap task terraform terragrunt tofu tox
  tsup turbo uv vagrant vite vitest waf webpack xcodebuild yarn`.split(/\s+/)
)

/** What those do without running any, and what others do that runs some. */
const runsNothing =
  /^(?:cargo (?:add|audit|clean|fmt|help|metadata|remove|rm|search|tree|update|version)|(?:npm|pnpm|yarn) (?:audit|explain|info|la|list|ll|ls|outdated|ping|prefix|root|search|view|whoami|why)|pip3? (?:check|freeze|list|show))$/
const runsSome = /^(?:(?:docker|nerdctl|podman) (?:build|buildx|compose)|go (?:generate|run|test|tool))$/

/** Whether a call runs files of the project, or may: nothing is known about its program. */
export const runsProject = (program: string, args: ReadonlyArray<Argument>): boolean => {
  const name = programName(program).split("/").at(-1) ?? ""
  const call = `${name} ${args.find(({ text }) => !text.startsWith("-"))?.text ?? ""}`
  return mayWrap(name) || runsSome.test(call) || (runners.has(name) && !runsNothing.test(call))
}

/** Whether a word names a script or, before others, a program that runs one. */
const isScript = ({ source, text }: Argument, at: number, args: ReadonlyArray<Argument>): boolean =>
  source.startsWith("<(") || /^[^-].*\.(?:ba|da|k|z)?sh$/.test(text) ||
  (at < args.length - 1 && runsText(programName(text)))

/** What it means that such a program gets a script or a text: a rule that names the program may allow that. */
export const mayRun = (program: string): Judged => ({
  risk: `${program} may run what it is given`,
  beginning: { count: 1, ordinary: true, runs: true },
  reads: false,
  runs: true
})

/**
 * What programs of all kinds call options that run a program, or load code or config that names one: a whole name, or the
 * end of a longer one.
 */
const loading =
  /^--?(?!-|no-)(?:[a-z]\w*[-_])*(?:askpass|cmd|command|editor|engine|eval|hooks?|interpreter|kubeconfig|loader|lua-filter|pager|plugins?|preload|program|provider|renderer|require|rsh|script|shell|wrapper)(?:[-_](?:args?|dirs?|file|opts?|path))?(?:=|$)|^--?(?!-|no-)[\w-]*(?:exec|checkpoint-action)/

/** Any setting of apt may name a program. */
const ofApt = /^-[a-z]*[co]|^--(?:config-file|option)/

/** These take abbreviations. */
const ofBinutils = /^--?pl/

/** Other names for such options, of single programs. */
const loadingBy = lookup<RegExp>({
  apt: ofApt,
  "apt-cache": ofApt,
  "apt-get": ofApt,
  aptitude: ofApt,
  ar: ofBinutils,
  dpkg: /^--(?:admindir|instdir|post-invoke|pre-invoke|root)/,
  gcloud: /^--flags-file/,
  ld: ofBinutils,
  nm: ofBinutils,
  objcopy: ofBinutils,
  objdump: ofBinutils,
  ranlib: ofBinutils,
  size: ofBinutils,
  strip: ofBinutils
})

/** Such an option of a call. The settings of `-o NAME=VALUE` and `-o A::B=VALUE` may name programs too. */
const loadingOption = (name: string, args: ReadonlyArray<Argument>): string | undefined =>
  args.find(({ text }, at) =>
    loading.test(text) || loadingBy[name]?.test(text) === true ||
    /^[A-Z]\w*(?:::\w|[\w:]*=)/.test(/^-o(.+)/.exec(text)?.[1] ?? (args[at - 1]?.text === "-o" ? text : ""))
  )?.text

/** Judges a call. A rule for a program that is not in the tables does not cover what such an option runs or loads. */
export const judgeCall = (program: string, args: ReadonlyArray<Argument>, fed: boolean, still: boolean): Judged => {
  const name = nameInTables(program)
  if (mayWrap(program) && !program.includes("/") && (fed || args.some(isScript))) return mayRun(program)
  const judged = judge(program, args, still)
  const isOrdinary = judged.risk === undefined || judged.beginning?.runs === false
  const isKnown = judged.reads || judged.known !== undefined || runners.has(name) || isBuiltin(name)
  if (!isOrdinary || isKnown) return judged
  const option = loadingOption(name, args)
  return option === undefined
    ? judged
    : { risk: `${name} may run or load what ${option} names`, reads: false, runs: true }
}
