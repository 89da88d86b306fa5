/**
 * Recognises files in which the user's programs and the system keep keys and passwords. Only a person shows one to a
 * model.
 */
import * as NodeFs from "node:fs"
import { basename, delimiter, dirname, isAbsolute, join } from "node:path"
import { attempt, isIn, namesIn, realOf } from "./disk.ts"
import { stateOf, statOf } from "./secretFiles.ts"

/** Where they are in a home. What lies in a directory counts as well. */
const ofHome = `.1password .aws .azure .bitwarden .boto .cargo/credentials .cargo/credentials.toml .claude.json
  .claude/.credentials.json .codeium/config.json .codex/auth.json .composer/auth.json .config/1password .config/anthropic
  .config/Bitwarden CLI .config/age .config/composer/auth.json .config/containers/auth.json .config/doctl .config/flyctl
  .config/gcloud .config/gh/hosts.yml .config/git/credentials .config/github-copilot .config/glab-cli/config.yml
  .config/goose/secrets.yaml .config/heroku .config/hub .config/kaggle .config/linode-cli .config/llm/keys.json .config/nuget
  .config/op .config/pip/pip.conf .config/pypoetry/auth.toml .config/rclone/rclone.conf .config/sops .config/stripe
  .config/uv/credentials.toml .config/wrangler .continue/config.json .continue/config.yaml .copilot/config.json .crush/crush.json
  .cursor/auth.json .databrickscfg .docker/config.json .fly/config.yml .gem/credentials .gemini/gemini-credentials.json
  .gemini/google_accounts.json .gemini/oauth_creds.json .gemini/.env .git-credentials .gnupg .gradle/gradle.properties
  .huggingface/token .cache/huggingface/token .kaggle .kube .local/share/goose .local/share/keyrings
  .local/share/opencode/auth.json .local/share/opencode/mcp-auth.json .local/share/uv/credentials .m2/settings.xml
  .m2/settings-security.xml .my.cnf .mylogin.cnf .netlify/config.json .netrc .npmrc .nuget/NuGet.Config .oci .password-store
  .pg_service.conf .pgpass .pi/agent/auth.json .pip/pip.conf .pulumi/credentials.json .pypirc .qwen/oauth_creds.json .s3cfg
  .sentryclirc .snowflake .ssh .terraform.d/credentials.tfrc.json .terraformrc .vault-token .yarnrc.yml _netrc`
  .split(/\s+(?=[._])/)

/** Variables that name such a file, or several. */
const ofVariables =
  `AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE BOTO_CONFIG CLOUDSDK_CONFIG GNUPGHOME GOOGLE_APPLICATION_CREDENTIALS
  KUBECONFIG MYSQL_TEST_LOGIN_FILE NETRC NPM_CONFIG_USERCONFIG PGPASSFILE PGSERVICEFILE PIP_CONFIG_FILE
  SOPS_AGE_KEY_FILE TF_CLI_CONFIG_FILE npm_config_userconfig`.split(/\s+/)

/** Variables that name a directory with such a file. */
const inVariables = [
  ["CARGO_HOME", "credentials.toml"],
  ["CARGO_HOME", "credentials"],
  ["CLAUDE_CONFIG_DIR", ".credentials.json"],
  ["CODEX_HOME", "auth.json"],
  ["DOCKER_CONFIG", "config.json"],
  ["GH_CONFIG_DIR", "hosts.yml"],
  ["XDG_CONFIG_HOME", "gh/hosts.yml"],
  ["XDG_CONFIG_HOME", "git/credentials"],
  ["XDG_CONFIG_HOME", "gcloud"],
  ["XDG_CONFIG_HOME", "op"],
  ["XDG_CONFIG_HOME", "age"],
  ["XDG_CONFIG_HOME", "pip/pip.conf"],
  ["XDG_CONFIG_HOME", "rclone/rclone.conf"],
  ["XDG_DATA_HOME", "keyrings"],
  ["XDG_DATA_HOME", "opencode/auth.json"]
] as const

const missing = { throwIfNoEntry: false } as const

/** Those of the system, which root could read. What lies in a directory counts as well. */
const ofSystem =
  `/etc/gshadow /etc/gshadow- /etc/krb5.keytab /etc/letsencrypt/archive /etc/letsencrypt/live /etc/master.passwd
  /etc/NetworkManager/system-connections /etc/pki/tls/private /etc/ppp/chap-secrets /etc/ppp/pap-secrets
  /etc/security/opasswd /etc/shadow /etc/shadow- /etc/ssl/private /etc/sudoers /etc/sudoers.d /etc/wireguard`.split(
    /\s+/
  )

/** Where the system keeps its config. What not everybody may read there may hold passwords. */
const config = "/etc"

/** Whether a path is below a place of the system's config that not everybody may read. */
const isPrivate = (real: string): boolean => {
  if (real === config || !isIn(real, config)) return false
  const stat = attempt(() => NodeFs.statSync(real, missing), undefined)
  return (stat !== undefined && (stat.mode & 0o004) === 0) || isPrivate(dirname(real))
}

/** Whether a path is a secret of the system. */
const isOfSystem = (real: string): boolean =>
  ofSystem.some((each) => isIn(real, each))
  || (/^\/etc\/ssh\/ssh_host_[^/]+_key$/.test(real)) || isPrivate(real)

/** What lies in these directories without being secret. */
const isPublic = (path: string): boolean =>
  /(?:\.pub|^known_hosts(?:\.old)?|^\.ssh|^\.kube|^\.aws)$/.test(basename(path))

const forms = ofHome.map((name) => `/${name.toLowerCase()}`)

/** Whether a path has the form of such a file in the home of anybody. */
const isForm = (path: string): boolean => {
  const lower = path.toLowerCase()
  return forms.some((form) => lower.endsWith(form) || lower.includes(`${form}/`))
}

/** Decides which files are credentials. All paths are absolute. */
export interface CredentialFiles {
  /** Whether a real path is such a file, or another name of one; `inside` if it is in the session's directory. */
  readonly has: (real: string, inside: boolean) => boolean
  /** The same without other names. */
  readonly isNamed: (real: string, inside: boolean) => boolean
  /** Those of this user that exist, real. */
  readonly places: () => ReadonlyArray<string>
}

/** What a file with several names is. */
const identityOf = (path: string): string | undefined => {
  const { hasOtherNames, identity } = statOf(path)
  return hasOtherNames ? identity : undefined
}

/** A directory, or the nearest one above it that exists. */
const existing = (directory: string): string =>
  NodeFs.existsSync(directory) || directory === dirname(directory) ? directory : existing(dirname(directory))

const filesOf = (place: string): ReadonlyArray<string> => [
  place,
  ...namesIn(place).map((name) => join(place, name))
]

/** Makes it. In a project, such names are only credentials if they are of this user's home or named by a variable. */
export const makeCredentialFiles = (
  home: string | undefined,
  environment: Readonly<Record<string, string | undefined>>
): CredentialFiles => {
  const named = [
    ...(home === undefined ? [] : ofHome.map((name) => join(home, name))),
    ...ofVariables.flatMap((name) => (environment[name] ?? "").split(delimiter)),
    ...inVariables.flatMap(([name, path]) => environment[name] === undefined ? [] : [join(environment[name], path)])
  ].filter(isAbsolute)
  const directories = [...new Set(named.map((path) => dirname(path)))]
  let watched: ReadonlyArray<string> | undefined
  let state = ""
  let known: ReadonlyArray<string> = []
  // A program may keep them elsewhere, and link to them. They are looked up again when a directory of theirs changes, or the
  // one in which it would be created.
  const all = () => {
    if (watched !== undefined && stateOf(watched) === state) return known
    watched = [...new Set(directories.map(existing))]
    state = stateOf(watched)
    known = [...new Set(named.flatMap((path) => [path, realOf(path)]))]
    return known
  }
  const isNamed = (real: string, inside: boolean): boolean =>
    isOfSystem(real) || !isPublic(real) && (all().some((each) => isIn(real, each)) || (!inside && isForm(real)))
  return {
    isNamed,
    has: (real, inside) => {
      if (isNamed(real, inside)) return true
      const identity = identityOf(real)
      return identity !== undefined && !isPublic(real) &&
        [...all(), ...ofSystem].flatMap(filesOf).some((path) => !isPublic(path) && identityOf(path) === identity)
    },
    places: () => all().filter((path) => NodeFs.existsSync(path) && realOf(dirname(path)) === dirname(path))
  }
}
