/**
 * Lists the protected names: changing such a file would change what runs, or what is allowed, later. A person is asked
 * each time.
 */

/** Directories in which everything is protected, at any depth: what git, editors, agents and hook managers run or obey. */
const directories = new Set([
  ...[".git", ".husky", ".githooks", ".git-hooks", ".lefthook"],
  // Agents.
  ...[".skein", ".opencode", ".claude", ".agents", ".cursor", ".codex", ".gemini", ".windsurf", ".roo", ".kiro"],
  ...[".continue", ".junie", ".amazonq", ".amp", ".augment", ".cline", ".clinerules", ".codeium", ".copilot", ".crush"],
  ...[".factory", ".goose", ".iflow", ".kilocode", ".openhands", ".pi", ".qoder", ".qwen", ".tabnine", ".trae"],
  ".warp",
  // Editors, and tools that a shell starts in a directory.
  ...[".vscode", ".idea", ".zed", ".devcontainer", ".fleet", ".helix", ".nova", ".run", ".theia", ".vim", ".mise"],
  ".shadowenv.d"
])

/** The files of hook managers, with the endings that they may have. */
const hookManagers =
  /^(?:\.?lefthook(?:-local)?|\.?prek|hk|\.?pre-commit-config|\.huskyrc|\.?simple-git-hooks|\.overcommit|\.?captainhook|grumphp)\.(?:ya?ml|toml|jsonc?|c?js|pkl)$/

/** Workspaces of editors, and the config of mise for one environment. */
const others = /\.(?:code-workspace|sublime-project)$|^\.?(?:mise|rtx)(?:\.[\w-]+)*\.toml$/

/** Files that are protected wherever they are. */
const files = new Set([
  // Skein and other agents: config, and the instructions that they obey.
  ...["skein.json", "skein.jsonc", "opencode.json", "opencode.jsonc", ".opencode.json", ".mcp.json", "mcp.json"],
  ...[".aider.conf.yml", ".continuerc.json", "crush.json", ".crush.json", ".roomodes"],
  ...["agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "warp.md"],
  ...["crush.md", "iflow.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".rules"],
  ".augment-guidelines",
  // Git, package managers and tools that read their config from where they are started.
  ...[".gitmodules", ".gitconfig", ".hgrc", ".ripgreprc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs"],
  ...["bunfig.toml", ".bunfig.toml", ".envrc", ".direnvrc", ".tool-versions", ".autoenv.zsh", ".jvmopts", ".sbtopts"],
  ...["rust-toolchain", "rust-toolchain.toml", ".ctags", ".tmux.conf", ".screenrc", ".devcontainer.json"],
  // Editors, debuggers and interpreters that run a file of the directory that they are started in.
  ...[".exrc", ".vimrc", ".lvimrc", ".local.vimrc", ".nvimrc", ".nvim.lua", ".ycm_extra_conf.py", ".kakrc", ".emacs"],
  ...[".dir-locals.el", ".dir-locals-2.el", ".gdbinit", ".lldbinit", ".pdbrc", ".rprofile", ".renviron", ".huskyrc"],
  ...[".irbrc", ".pryrc", ".byebugrc", ".ghci", ".ocamlinit", ".iex.exs", ".octaverc", ".gnuplot"],
  // Shells.
  ...[".profile", ".login", ".logout", ".inputrc", "config.fish", ".kshrc", ".cshrc", ".tcshrc"],
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases"],
  ...[".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout"]
])

/** Files that are protected in a directory that is not: the last one or two names of its path, and theirs. */
const inDirectories: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [".cargo", new Set(["config", "config.toml"])],
  [".config", new Set(["mise"])],
  [".github", new Set(["agents", "chatmodes", "copilot-instructions.md", "hooks", "instructions", "prompts"])],
  [".hg", new Set(["hgrc"])],
  [".jj/repo", new Set(["config.toml"])],
  [".mvn", new Set(["extensions.xml", "jvm.config", "maven.config"])],
  [".sl", new Set(["config"])],
  [".trunk", new Set(["trunk.yaml"])],
  [".vs", new Set(["launch.vs.json", "tasks.vs.json"])],
  ["mise", new Set(["config.toml"])]
])

const invisible = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/g

/**
 * A name as a file system may compare it: ignoring case, forms of accents, dots and blanks at the end, streams after a
 * colon, and short names.
 */
const fold = (name: string): string => {
  const plain = name.normalize("NFC").replace(invisible, "").replace(/:.*$/, "").replace(/[. ]+$/, "")
  const lower = plain.toUpperCase().toLowerCase()
  return lower === "git~1" ? ".git" : lower
}

/** Whether a folded name is protected wherever it is. */
const isProtectedName = (name: string): boolean => directories.has(name) || isProtectedFile(name)

const isProtectedFile = (name: string): boolean => files.has(name) || hookManagers.test(name) || others.test(name)

/** Whether a pattern of hidden names matches a protected one. */
export const mayBeProtected = (fits: (name: string) => boolean): boolean =>
  [...directories, ...files, ...inDirectories.keys()].some((name) => name.startsWith(".") && fits(name))

/** Whether a path is a plan, which is not protected. */
export const isPlan = (path: string): boolean => /^\.skein\/plans\/[^/]+\.md$/i.test(path)

/** Whether a path, with `/` between its names, is protected. Plans (`.skein/plans/*.md`) are not. */
export const isProtected = (path: string): boolean => {
  const names = path.split("/").filter((name) => name !== "" && name !== ".").map(fold)
  const last = names.at(-1) ?? ""
  if (names.length === 3 && names[0] === ".skein" && names[1] === "plans" && last.endsWith(".md")) return false
  return isProtectedFile(last)
    || names.some((name, at) =>
      directories.has(name) ||
      [1, 2].some((count) => inDirectories.get(names.slice(Math.max(at - count, 0), at).join("/"))?.has(name) === true)
    )
}

/** Names at the top of a home, if that is the tree, that no command may make. */
const madeInHome = new Set([".config", ".gnupg", ".local", ".netrc", ".pam_environment", ".ssh", "bin", "node_modules"])

/** Whether a name in a home holds what a login or the user's programs read or run: any that begins with a dot, and programs. */
const isOfHome = (name: string): boolean => /^\.|^(?:bin|node_modules)$/.test(name)

/** Whether a name at the top of a tree is protected, except `.git`, which has rules of its own. */
export const isProtectedAtTop = (name: string, isHome: boolean): boolean => {
  const folded = fold(name)
  return folded !== ".git" && (isProtectedName(folded) || (isHome && madeInHome.has(folded)))
}

/** The protected names in directories at the top that are not protected themselves. */
export const protectedBelow: ReadonlyArray<readonly [directory: string, isNamed: (name: string) => boolean]> = [
  ...inDirectories
].map(([directory, names]) => [directory, (name) => names.has(fold(name))])

/**
 * Whether a path is protected because it is in the user's home: its hidden names and programs, and all of it if a home is
 * only part of the working directory. The ancestors of the working directory are not.
 */
export const isProtectedInHome = (real: string, directory: string, home: string): boolean => {
  if (real !== home && !real.startsWith(`${home}/`)) return false
  const [top = ""] = real.slice(home.length + 1).split("/", 1)
  if (isBelow(home, directory)) return home !== directory || top.startsWith(".")
  return isOfHome(fold(top)) && !isBelow(directory, `${home}/${top}`)
}

const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
