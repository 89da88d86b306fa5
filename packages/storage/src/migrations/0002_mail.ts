/** An index for messages between processes: finds waiting ones without reading all earlier ones. */
import { migration } from "../internal/migration.ts"

export const mail = migration(() => [
  "CREATE INDEX inbox_mail ON inbox (id) WHERE taken_at IS NULL AND kind IN ('steer', 'stop')"
])
