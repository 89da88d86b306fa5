/** Finds keys of permissions that are one or two letters away from one of Skein's: such a rule holds for nothing. */
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { similar } from "@skein/domain/Lookup"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"

/** The permissions, and the tools that rules can name. */
const known: ReadonlyArray<string> =
  `bash bash_credentials bash_network bash_write doom_loop edit external_directory glob grep list patch question read skill task
  task_agent task_message task_model task_status task_stop task_wait todoread todowrite webfetch write`.split(/\s+/)

/** A key that may be misspelt: where it stands, and what it may stand for. */
interface MisspeltKey {
  readonly path: string
  readonly key: string
  readonly meant: string
}

const inRules = (path: string, config: PermissionConfig | undefined): ReadonlyArray<MisspeltKey> =>
  [...new Set(fromConfig(config ?? {}).map(({ permission }) => permission))].flatMap((key) => {
    if (known.includes(key) || /[*?]/.test(key)) return []
    const meant = similar(key, known) ?? (key.length > 3 ? known.find((each) => each.startsWith(key)) : undefined)
    return meant === undefined ? [] : [{ path: `${path}.${key}`, key, meant }]
  })

/** The misspelt keys of all rules. */
export const misspeltKeys = ({ agent = {}, permission }: Pick<ConfigInfo, "agent" | "permission">) => [
  ...inRules("permission", permission),
  ...Object.entries(agent).flatMap(([name, { ceiling, permission: own }]) => [
    ...inRules(`agent.${name}.permission`, own),
    ...inRules(`agent.${name}.ceiling`, ceiling)
  ])
]
