/**
 * The public face of the package: declarations, the service as a web-standard `fetch`, listeners, authentication and the host functions. What
 * is not exported here is nobody's business outside.
 */

import "./runtime.ts"

export type { TenantLookup } from "../core/domain/account/tenants.ts"
export { checkSourceNames, sourceOptions } from "../core/domain/compile/source.ts"
export { defineConfig } from "../core/domain/declare/config.ts"
export type {
  AuthDeclaration,
  Authenticated,
  AuthenticateFunction,
  Change,
  ChangeOf,
  Config,
  OptionsDeclaration,
  Transaction,
  TypedConfig,
  UnhandledErrorHook,
  WriteHook
} from "../core/domain/declare/config.ts"
export type { ConfigExtension } from "../core/domain/declare/config.ts"
export { fn } from "../core/domain/declare/database-function.ts"
export type { DatabaseFunction } from "../core/domain/declare/database-function.ts"
export { extendResource, withResources } from "../core/domain/declare/extend.ts"
export type { Extension } from "../core/domain/declare/extend.ts"
export { f, relation } from "../core/domain/declare/field.ts"
export type { AnyField, FieldBuilder, FieldMap } from "../core/domain/declare/field.ts"
export { aspectRatio, fileSize, fileType, imageSize, processor } from "../core/domain/declare/file.ts"
export type { FilesDeclaration, ProcessorDeclaration, VariantDeclaration } from "../core/domain/declare/file.ts"
export type { FormDeclaration, FormsDeclaration } from "../core/domain/declare/form.ts"
export { history } from "../core/domain/declare/history.ts"
export type { CreateOf, RecordOf, UpdateOf } from "../core/domain/declare/record.ts"
export type { Refusal } from "../core/domain/declare/refusal.ts"
export { defineResource } from "../core/domain/declare/resource.ts"
export type {
  AccessDeclaration,
  EventsDeclaration,
  RecordFrom,
  Resource,
  ResourceDeclaration
} from "../core/domain/declare/resource.ts"
export { fromHost, fromPath } from "../core/domain/declare/tenants.ts"
export type { HostsDeclaration, PathsDeclaration, TenantSource } from "../core/domain/declare/tenants.ts"
export { defineView } from "../core/domain/declare/view.ts"
export type {
  ChartDeclaration,
  DeclaredView,
  MenuDeclaration,
  NavDeclaration,
  PageDeclaration,
  ViewDeclaration
} from "../core/domain/declare/view.ts"
export type { FieldProblem, Model, Models, WireRecord } from "../core/domain/model/model.ts"
export type { Json, Kind } from "../core/domain/value/kind.ts"

export type { Caller } from "../core/domain/access/caller.ts"
export type { RuleAnswer, Where } from "../core/domain/access/rules.ts"
export { where } from "../core/domain/access/where.ts"
export { defineRoles } from "../core/domain/declare/roles.ts"
export type { CapabilityText, DeclaredRoles } from "../core/domain/declare/roles.ts"
export { webhooks } from "../core/domain/declare/webhooks.ts"
export type { DisabledReason, DisabledSubscription, WebhooksDeclaration } from "../core/domain/declare/webhooks.ts"
export type { EventEnvelope } from "../core/domain/event/envelope.ts"
export { subscription } from "../core/domain/event/subscription.ts"
export type { DeclaredSubscription, RunContext, SubscriptionDeclaration } from "../core/domain/event/subscription.ts"
export { defineFunction, FunctionRefusal, refuse } from "../core/domain/function/declaration.ts"
export type {
  DeclaredFunction,
  FunctionContext,
  FunctionDeclaration,
  FunctionPage,
  FunctionQuery,
  FunctionRecords
} from "../core/domain/function/declaration.ts"
export { defineHook, githubSignature, standardWebhooks, stripeSignature } from "../core/domain/hook/declaration.ts"
export type {
  DeclaredHook,
  DeclaredScheme,
  HookContext,
  HookDeclaration,
  HookMessage,
  HookSecrets,
  StripeSecrets,
  UnverifiedRequest,
  Verdict,
  VerifyRequest
} from "../core/domain/hook/declaration.ts"
export type { Secrets } from "../core/domain/secret.ts"
export { sourcesFor } from "../core/domain/source/source.ts"
export type { Source, SourceShown } from "../core/domain/source/source.ts"

export { smtpMail } from "../adapters/mail/smtp.ts"
export type { SmtpOptions } from "../adapters/mail/smtp.ts"
export type {
  DeclaredJob,
  JobContext,
  JobDatabase,
  JobDeclaration,
  OwnDatabase,
  RunningJob
} from "../core/domain/job/definition.ts"
export { EnqueueError } from "../core/domain/job/enqueue.ts"
export type { EnqueueOptions } from "../core/domain/job/enqueue.ts"
export { FatalJobError, RetryAt } from "../core/domain/job/failure.ts"
export type { Attachment, Mail, MailMessage } from "../core/domain/mail/message.ts"
export { defineTemplate, escapeHtml, html } from "../core/domain/mail/template.ts"
export type { Html, Template, TemplateDeclaration } from "../core/domain/mail/template.ts"
export type { Duration } from "../core/domain/value/duration.ts"
export type { StandardSchema } from "../core/domain/value/standard-schema.ts"
export { MailError } from "../core/ports/mail.ts"

export { defineJob, queueIn } from "../adapters/queue/define.ts"
export type { Job } from "../adapters/queue/define.ts"

export { createKey, listKeys, revokeKey } from "../adapters/auth/api-keys.ts"
export type { AuthEvent, AuthEventName, AuthLog } from "../adapters/auth/auth-log.ts"
export { createAuth } from "../adapters/auth/auth.ts"
export type { Auth, AuthOptions } from "../adapters/auth/auth.ts"
export { KeysUnavailable, Refused, Unauthorized } from "../adapters/auth/authenticator.ts"
export type { Authenticator, Identity } from "../adapters/auth/authenticator.ts"
export { builtInAuthenticator } from "../adapters/auth/built-in.ts"
export type { BuiltInOptions } from "../adapters/auth/built-in.ts"
export type { AuthDatabase } from "../adapters/auth/database.ts"
export { jwtAuthenticator } from "../adapters/auth/jwt.ts"
export type { JwtOptions } from "../adapters/auth/jwt.ts"
export { authMigrationSql } from "../adapters/auth/migration.ts"
export { withTrustedApps } from "../adapters/auth/trusted.ts"
export type { TrustedApp } from "../adapters/auth/trusted.ts"
export {
  createUser,
  deleteUser,
  hasUsers,
  issueToken,
  listUsers,
  removePasskeys,
  resetSecondFactor,
  revokeUser,
  roleChoices,
  setUserBanned,
  setUserPassword,
  setUserRole
} from "../adapters/auth/users.ts"
export { AccountError } from "../core/domain/account/account.ts"
export type { Account, IssuedToken, NewAccount } from "../core/domain/account/account.ts"
export type { ApiKey, IssuedKey, NewApiKey } from "../core/domain/account/api-key.ts"
export type { ProviderDeclaration } from "../core/domain/account/identity-provider.ts"
export type { PasskeyDeclaration } from "../core/domain/account/passkey.ts"

export { newWebhookSecret, verifyStandardWebhook, WebhookSignatureError } from "../adapters/seal/webhook.ts"
export type { SignedRequest, VerifiedWebhook } from "../adapters/seal/webhook.ts"

export type { ExtraRoute } from "../adapters/http/handle.ts"
export { listen } from "../adapters/http/node.ts"
export type { Listener, ListenOptions } from "../adapters/http/node.ts"
export type { PostgresOptions, ReplicaUrls } from "../adapters/postgres/connection.ts"
export type { TransactionHandle } from "../adapters/postgres/transaction.ts"

export { localFiles, s3Files } from "../core/domain/file/provider.ts"
export type { FileProviderDeclaration, LocalFilesOptions, S3FilesOptions } from "../core/domain/file/provider.ts"
export { variantPath } from "../core/domain/file/uri.ts"
export type { FileValue, ProcessedFile } from "../core/domain/model/file.ts"
export type { QueueService, Workers } from "../core/ports/queue.ts"
export type { AdminDatabase } from "./job-queue.ts"

export { createAdmin } from "./create-admin.ts"
export type { Admin } from "./create-admin.ts"
export type { AdminOptions, ConfigWithAuth } from "./deployment.ts"
export { runServer, startServer } from "./server.ts"
export type { Server, ServerOptions } from "./server.ts"
export { StartupError } from "./startup-error.ts"
export { storeFile } from "./store-file.ts"
export type { StoreFileOptions } from "./store-file.ts"
