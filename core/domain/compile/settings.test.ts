import { describe, expect, it } from "vitest"
import { app, one, type RefusalCase, refusalLines } from "../../../test/support/refusals.ts"
import { f } from "../declare/field.ts"

const cases: readonly RefusalCase[] = [
  [
    "a tenant that is no value of its column",
    { ...one({ tenant_id: f.integer() }, { tenant: "tenant_id" }), auth: { tenant: "acme" } },
    "a.tenant_id: auth.tenant is \"acme\", which is no value of the tenant column (integer). → Set auth.tenant to the tenant's value as the column holds it."
  ],
  [
    "mails about accounts that are none",
    app({ auth: { mail: { resets: true } } }),
    "config: auth.mail has no \"resets\": there are passwordReset, invitations, signInAlerts, notices and page. → Write mail: true, or { passwordReset: true, invitations: true }."
  ],
  [
    "links of mails to a page without https",
    app({ auth: { mail: { passwordReset: true, page: "http://shop.example/reset" } } }),
    "config: auth.mail.page must be an https URL without password, query and fragment. → Write mail: true, or { passwordReset: true, invitations: true }."
  ],
  [
    "links of mails that lead nowhere",
    app({ auth: { mail: true }, options: { admin: false } }),
    "config: auth.mail sends links, and there is no page for them: options.admin is false. → Write auth: { mail: { …, page: \"https://…\" } } with a page that takes the token behind \"#\", or serve the admin app."
  ],
  [
    "mails about accounts that are kept elsewhere",
    app({ auth: { jwksUrl: "https://id.example/api/auth/jwks", mail: true } }),
    "config: auth.mail means nothing beside auth.jwksUrl, as another server keeps the accounts. → Remove it, or auth.jwksUrl."
  ],
  [
    "rules of reads that want the record",
    one({ name: f.text() }, {
      access: {
        read: ({ record }: { readonly record: { readonly name: string } }) => record.name === "x",
        fields: {
          name: {
            read: (context: { readonly caller: { readonly roles: readonly string[] }; readonly record: object }) =>
              context.caller.roles.includes("admin") && Object.keys(context.record).length > 0
          }
        }
      }
    }),
    "a: access.read reads the record. There is none when it is decided what can be read, so it would deny everybody. → Answer where`…` for the records that may be read, or decide from the caller.",
    "a: access.fields.name.read reads the record. There is none when it is decided what can be read, so it would deny everybody. → Answer where`…` for the records that may be read, or decide from the caller."
  ],
  [
    "roles in rules that nobody can have, where no roles are declared",
    one({ name: f.text() }, { access: { read: ["manager"] } }),
    "a: access.read names the role \"manager\", which is not declared. → Use one of user, admin, anonymous."
  ],
  [
    "a base path that is the service's own",
    app({ options: { basePath: "/api/auth" } }),
    "config: options.basePath is \"/api/auth\", and /api/auth is the path of the service's own \"auth\". → Let it end in another segment, such as \"/api/v1\"."
  ],
  [
    "capabilities that do not check",
    app({ roles: { sales: ["a.raed", "b.read"], "Big Boss": [], x: "a.read" } }),
    "config: Role \"sales\": \"a.raed\" names an unknown operation \"raed\". → Did you mean \"read\"?",
    "config: Role \"sales\": \"b.read\" names an unknown resource \"b\". → Did you mean \"a\"?",
    "config: Role \"Big Boss\" is not a valid role name. → Use lower-case letters, digits, _ and -.",
    "config: Role \"x\" is not a list of capabilities. → Write x: [\"orders.read\"], or [] for a role that may do nothing by itself."
  ],
  [
    "roles declared twice",
    app({ roles: {}, options: { roles: {} } }),
    "config: Roles are declared twice: as roles and as options.roles. → Keep one of them."
  ],
  [
    "roles that are no object",
    app({ roles: ["sales"] }),
    "config: roles is [\"sales\"], not an object. → Write roles: defineRoles({ admin: [\"*\"], sales: [\"orders.read\"] })."
  ],
  [
    "roles that are null",
    app({ roles: null }),
    "config: roles is null, not an object. → Write roles: defineRoles({ admin: [\"*\"], sales: [\"orders.read\"] })."
  ],
  [
    "view of an unknown resource",
    app({ views: { aa: {} } }),
    "aa: A view is declared for \"aa\", which is not a resource. → Did you mean \"a\"?"
  ],
  [
    "view with unknown fields",
    app({
      views: {
        a: {
          columns: ["nam", "id", "id"],
          search: ["id"],
          title: "titel",
          layout: [{ fields: ["name"] }, { fields: ["name", 1], titel: "x" }]
        }
      }
    }),
    "a.nam: view \"a\": columns[0] is \"nam\", which is not a field. → Did you mean \"name\"?",
    "a.id: view \"a\": columns names \"id\" twice. → Remove one of the two.",
    "a.id: view \"a\": search names \"id\", which is neither filterable nor searched. → Add filterable() or searched() to the field, or remove it here.",
    "a: view \"a\": There is no property layout[1].titel. → Use one of label, fields.",
    "a: view \"a\": layout[1].fields[1] is 1, which is not a field. → Name a field of the resource.",
    "a.name: view \"a\": layout names \"name\" in two groups. → Remove one of the two.",
    "a.titel: view \"a\": title is \"titel\", which is not a field. → Use one of id, name, total."
  ],
  [
    "chart and number of amounts whose currency cannot be chosen",
    {
      ...one({ at: f.date().filterable(), total: f.decimal().filterable(), currency: f.currency() }),
      views: { a: { chart: { of: "series", field: "at", measure: "sum:total" } } }
    },
    "a.currency: view \"a\": chart.measure \"total\" has its currency in \"currency\", which is not filterable: amounts of several currencies are not added up. → Add filterable() to \"currency\", or measure another field."
  ],
  [
    "view with an unknown property",
    app({ views: { a: { colums: [] } } }),
    "a: view \"a\": There is no property colums. → Did you mean \"columns\"?"
  ],
  [
    "view with an order that does not check",
    app({ views: { a: { sort: "id desc, nme", nav: { recent: { sort: "" } } } } }),
    "a: view \"a\": The order \"id desc, nme\" of sort does not check: The field \"id\" cannot be sorted. → Fields that can be sorted: name.",
    "a: view \"a\": The order \"id desc, nme\" of sort does not check: There is no field \"nme\". → Did you mean name?",
    "a: view \"a\": nav.recent.sort is \"\", not an order. → Write an order such as \"created_at desc, id\"."
  ],
  [
    "view with a filter through a relation that is none",
    app({ views: { a: { filters: [{ name: "A", filter: "b.name = x" }] } } }),
    "a: view \"a\": The filter \"b.name = x\" of filters[0] does not check, at \"b.name\": There is no field \"b.name\". → The relations here: none."
  ],
  [
    "view with filters that do not check",
    app({
      views: {
        a: { filters: [{ name: "A", filter: "nme = 1" }, { name: "A", filter: "name = x", of: 1 }, { filter: 1 }, 2] }
      }
    }),
    "a: view \"a\": The filter \"nme = 1\" of filters[0] does not check, at \"nme\": There is no field \"nme\". → Did you mean name?",
    "a: view \"a\": There is no property filters[1].of. → Use one of name, filter.",
    "a: view \"a\": Two filters are named \"A\". → Rename one of them.",
    "a: view \"a\": filters[2] has the name undefined. → Give it a text that people read.",
    "a: view \"a\": The filter of filters[2] is 1, not a text. → Write a filter, such as status = \"draft\".",
    "a: view \"a\": filters[3] is 2. → Write filters: [{ name: \"Open\", filter: \"status = draft\" }]."
  ],
  [
    "view with a chart that does not fit",
    app({ views: { a: { chart: { of: "series", field: "id", granularity: "dai", measure: "sum:name" } } } }),
    "a.id: view \"a\": chart.field \"id\" is not filterable, as aggregates need. → Add filterable() to the field.",
    "a.id: view \"a\": chart.field: The field \"id\" is neither a timestamp nor a date. → Name another field, or draw another chart.",
    "a: view \"a\": chart.granularity is \"dai\". → Did you mean \"day\"?",
    "a.name: view \"a\": chart.measure: The field \"name\" is not a number. → Name another field, or draw another chart."
  ],
  [
    "view with an unknown chart",
    app({ views: { a: { chart: { of: "pie" } } } }),
    "a: view \"a\": chart is {\"of\":\"pie\"}. → Write chart: { of: \"series\", field: \"created_at\" }; of is series, histogram or facets."
  ],
  [
    "chart with too many buckets",
    app({ views: { a: { chart: { of: "histogram", field: "total", buckets: 101, limit: 1 } } } }),
    "a: view \"a\": There is no property chart.limit. → Use one of of, field, buckets.",
    "a: view \"a\": chart.buckets is 101. → Write a whole number from 1 to 100."
  ],
  [
    "view that can never be shown",
    app({ views: { a: [{ name: "x" }, { name: "x", roles: ["user"] }] } }),
    "a: Two views are named \"x\". → Give each a name of its own.",
    "a: view \"x\" can never be shown: \"x\" before it is for everybody. → Put the view without roles last, or give the one before it roles."
  ],
  [
    "view for nobody",
    app({ views: { a: { roles: [] } } }),
    "a: view \"a\": roles is [], not a list of roles. → List at least one role, or leave roles out for everybody."
  ],
  [
    "views that are no views",
    app({ views: [{ columns: [] }] }),
    "config: views[0] is {\"columns\":[]}, not a view. → Make it with defineView(orders, { … })."
  ],
  [
    "label that is no label",
    app({ views: { a: { label: "A", nav: { order: "first", group: 1 } } } }),
    "a: view \"a\": label is \"A\". → Write label: { singular: \"Order\", plural: \"Orders\" }.",
    "a: view \"a\": nav.group is 1. → Give it a text that people read.",
    "a: view \"a\": nav.order is \"first\". → Write a number."
  ],
  [
    "page with the name of a resource",
    app({ pages: [{ name: "a", label: "A" }, { name: "P", label: "" }] }),
    "config: pages[0].name \"a\" is also the name of a resource. → Rename the page.",
    "config: pages[1].name is \"P\", which is not a page's name. → Use lower-case letters, digits, _ and -.",
    "config: pages[1].label is \"\". → Give it a text that people read."
  ],
  [
    "page with an address that is none",
    app({
      pages: [
        { name: "p", label: "P", href: "javascript:alert(1)" },
        { name: "q", label: "Q", href: "//example.com" },
        { name: "p", label: "P" }
      ]
    }),
    "config: pages[0].href is \"javascript:alert(1)\", which is not an address. → Write a path such as \"/reports\", or an http(s) or mailto address.",
    "config: pages[1].href is \"//example.com\", which is not an address. → Write a path such as \"/reports\", or an http(s) or mailto address.",
    "config: Two pages are named \"p\". → Rename one of them."
  ],
  [
    "menu entry that leads nowhere",
    app({
      pages: [{ name: "reports", label: "R" }],
      userMenu: [{ label: "A" }, { label: "B", href: "/", page: "reports" }, { label: "C", page: "report" }, {
        label: "D",
        href: "/",
        resource: "aa"
      }]
    }),
    "config: userMenu[0] has neither href nor page. → Give one of them.",
    "config: userMenu[1] has href and page. → Give one of them.",
    "config: userMenu[2].page is \"report\", which is not a page. → Did you mean \"reports\"?",
    "config: userMenu[3].resource is \"aa\", which is not a resource. → Did you mean \"a\"?"
  ],
  [
    "unknown option",
    app({ options: { statementTimeoutMS: 1 } }),
    "config: There is no property options.statementTimeoutMS. → Did you mean \"statementTimeoutMs\"?"
  ],
  [
    "options that cannot hold",
    app({
      options: {
        statementTimeoutMs: 0,
        scanGuard: { mode: "block", rows: 1 },
        defaultAccess: "maybe",
        rowPermissions: { except: ["aa"] },
        basePath: "/v1/",
        writeHooks: [1],
        onUnhandledError: 1,
        cors: { origins: ["*", "https://a.example/", "https://*.a.example"] },
        serverTiming: "yes",
        maxBodyBytes: 1.5,
        maxAnswerBytes: 65_535,
        maxBatchBytes: "64 MiB",
        trustedProxies: -1
      }
    }),
    "config: options.onUnhandledError is 1. → Write a function: (error, context) => …",
    "config: options.serverTiming is \"yes\". → Write true or false.",
    "config: options.statementTimeoutMs is 0. → Write a whole number from 1 to 600000.",
    "config: There is no property options.scanGuard.rows. → Use one of mode, seqScanRows, aggregateRows.",
    "config: options.scanGuard.mode is \"block\". → Write \"reject\" or \"warn\" or \"off\".",
    "config: options.defaultAccess is \"maybe\". → Write \"allow\" or \"deny\".",
    "config: options.rowPermissions.except names \"aa\", which is not a resource. → Did you mean \"a\"?",
    "config: options.basePath is \"/v1/\". → Write a path of at least two segments without a slash at its end, such as \"/api/v1\": the system endpoints sit beside its last segment.",
    "config: options.writeHooks[0] is 1, not a function. → Write writeHooks: [(change) => …].",
    "config: options.cors.origins[0] is \"*\", which is not an origin. → Write scheme, host and port as browsers send them, such as \"https://app.example.com\"; there is no wildcard.",
    "config: options.cors.origins[1] is \"https://a.example/\", which is not an origin. → Write scheme, host and port as browsers send them, such as \"https://app.example.com\"; there is no wildcard.",
    "config: options.cors.origins[2] is \"https://*.a.example\", which is not an origin. → Write scheme, host and port as browsers send them, such as \"https://app.example.com\"; there is no wildcard.",
    "config: options.maxBodyBytes is 1.5. → Write a whole number from 1024 to 1073741824.",
    "config: options.maxAnswerBytes is 65535. → Write a whole number from 65536 to 134217728.",
    "config: options.maxBatchBytes is \"64 MiB\". → Write a whole number from 65536 to 1073741824.",
    "config: options.trustedProxies is -1. → Write a whole number from 0 to 100."
  ],
  [
    "sources that do not hold",
    app({
      pages: [{ name: "p", label: "P" }],
      options: {
        sources: [
          { url: "https://b.example", label: "B", resources: ["x"] },
          { url: "https://b.example/api/v1", label: "", resources: ["a", "p", "x"], token: "t" },
          { url: "https://b.example/api/v1/", label: "C", resources: ["x"] },
          { url: "https://me:hush@b.example/api", resources: [] }
        ]
      }
    }),
    "config: The source \"https://b.example\": url is \"https://b.example\", not an http(s) URL with a path and nothing after it. → Write the address of its resources API, such as \"https://shop.example.com/api/v1\".",
    "config: The source \"https://b.example/api/v1\": There is no property token. → Use one of url, label, resources, roles.",
    "config: The source \"https://b.example/api/v1\": label is \"\". → Give the source a name that people read.",
    "config: The source \"https://b.example/api/v1/\": The url is listed twice. → List each source once.",
    "config: The source \"https://b.example/api/v1/\": It draws \"x\", which is also drawn from \"https://b.example/api/v1\". → Draw it from one of them.",
    "config: The source \"https://…@b.example/api\": url is \"https://…@b.example/api\", not an http(s) URL with a path and nothing after it. → Write the address of its resources API, such as \"https://shop.example.com/api/v1\".",
    "config: The source \"https://…@b.example/api\": label is undefined. → Give the source a name that people read.",
    "config: The source \"https://…@b.example/api\": resources is []. → List the names of the resources to draw.",
    "config: The source \"https://b.example/api/v1\": It draws \"a\", which is a resource of this app. → Leave it out, or rename the app's own.",
    "config: The source \"https://b.example/api/v1\": It draws \"p\", which is a page of this app. → Leave it out, or rename the page."
  ],
  [
    "sign-in that does not hold",
    app({
      auth: {
        tenant: "",
        url: "localhost",
        secret: "hush",
        roles: ["Boss"],
        defaultRole: "bos",
        signInPerMinute: 0,
        tenants: 1
      }
    }),
    "config: There is no property auth.tenants. → Did you mean \"tenant\"?",
    "config: auth.tenant is \"\". → Write a text of at least one character or a whole number.",
    "config: auth.url is \"localhost\", not an http(s) URL without password and query. → Write an address such as \"https://admin.example.com\".",
    "config: auth.secret is too short. → Use 32 random bytes in base64, best from the variable AUTH_SECRET.",
    "config: auth.roles has \"Boss\". → Use lower-case letters, digits, _ and -.",
    "config: auth.defaultRole is \"bos\", which accounts cannot have. → Did you mean \"Boss\"?",
    "config: auth.signInPerMinute is 0. → Write a whole number from 1 to 10000."
  ],
  [
    "secrets of sign-in are not repeated",
    app({ auth: "hush" }),
    "config: auth is not an object. → Write auth: { tenant: 1 }."
  ],
  [
    "second factors and identity providers that do not hold",
    app({
      auth: {
        url: "https://admin.example.org",
        twoFactor: "yes",
        passkeys: { rpId: "example.com" },
        appName: " ",
        oidc: [{ id: "corp", issuer: "http://id.example", clientId: "a", clientSecret: "hush" }]
      }
    }),
    "config: auth.twoFactor is \"yes\". → Write true or false.",
    "config: auth.passkeys cannot work on https://admin.example.org: it is not below example.com. → Write passkeys: true, or { rpName: \"…\", rpId: \"example.org\", origins: [\"https://…\"] }.",
    "config: auth.appName is \" \". → Write the name that people know, such as \"Shop administration\".",
    "config: auth.oidc[0]: issuer must be an https URL without query. → Write oidc: [{ id: \"corp\", issuer: \"https://…\", clientId: \"…\", clientSecret: \"…\" }]."
  ],
  [
    "trusted apps that do not hold",
    app({
      auth: {
        url: "https://me.example",
        apps: [{ issuer: "https://me.example/", roles: { x: "y", z: ["anonymous"] } }, { issuer: 1 }]
      },
      roles: { sales: [] }
    }),
    "config: auth.apps[0].issuer is this app itself. → Remove it.",
    "config: auth.apps[0].roles.x names the role \"y\", which is not declared. → Use one of sales, user, admin, anonymous.",
    "config: auth.apps[0].roles.z is the role \"anonymous\", which nobody who is signed in can hold. → Name another local role, or leave it out.",
    "config: auth.apps[1].issuer is 1, not an http(s) URL without password and query. → Write apps: [{ issuer: \"https://…\", roles: { editor: \"sales\" }, tenant: 1 }].",
    "config: auth.apps[1].roles is undefined. → Write apps: [{ issuer: \"https://…\", roles: { editor: \"sales\" }, tenant: 1 }]."
  ],
  [
    "addresses of sign-in that do not hold",
    app({
      auth: {
        url: "https://ann:hush@me.example/?x",
        jwksUrl: "id.example",
        issuer: "https://id.example#x",
        trustedOrigins: [
          "https://a.example",
          "https://*.a.example",
          "https://a.example/",
          "https://ann:hush@a.example",
          "https://a.*.example"
        ],
        apps: [{ issuer: "https://ann:hush@b.example", roles: {} }]
      }
    }),
    "config: auth.url is \"https://…@me.example/?x\", not an http(s) URL without password and query. → Write an address such as \"https://admin.example.com\".",
    "config: auth.issuer is \"https://id.example#x\", not an http(s) URL without password and query. → Write an address such as \"https://admin.example.com\".",
    "config: auth.jwksUrl is \"id.example\", not an http(s) URL. → Write an address such as \"https://admin.example.com/api/auth/jwks\".",
    "config: auth.trustedOrigins[2] is \"https://a.example/\", which is not an origin. → Write scheme, host and port alone, such as \"https://app.example.com\" or \"https://*.example.com\".",
    "config: auth.trustedOrigins[3] is \"https://…@a.example\", which is not an origin. → Write scheme, host and port alone, such as \"https://app.example.com\" or \"https://*.example.com\".",
    "config: auth.trustedOrigins[4] is \"https://a.*.example\", which is not an origin. → Write scheme, host and port alone, such as \"https://app.example.com\" or \"https://*.example.com\".",
    "config: auth.apps[0].issuer is \"https://…@b.example\", not an http(s) URL without password and query. → Write apps: [{ issuer: \"https://…\", roles: { editor: \"sales\" }, tenant: 1 }]."
  ],
  [
    "trusted apps at one host, whose users would have the same ids",
    app({
      auth: {
        apps: [
          { issuer: "https://b.example/shop", roles: {} },
          { issuer: "https://b.example:8443", roles: {} },
          { issuer: "https://B.example/crm/", roles: {} }
        ]
      }
    }),
    "config: auth.apps[2].issuer is at b.example like another app: users of one could pass for users of the other. → Serve each app at a host of its own."
  ],
  [
    "trusted apps that are the app itself, however it is written",
    app({
      auth: {
        url: "https://me.example:443/admin",
        apps: [{ issuer: "https://ME.example/admin/", roles: {} }, { issuer: "https://id.example", roles: {} }]
      }
    }),
    "config: auth.apps[0].issuer is this app itself. → Remove it."
  ],
  [
    "a trusted app that is the auth server elsewhere",
    app({
      auth: {
        url: "https://me.example",
        jwksUrl: "https://id.example/api/auth/jwks",
        issuer: "https://id.example",
        apps: [{ issuer: "https://me.example", roles: {} }, { issuer: "https://id.example/", roles: {} }]
      }
    }),
    "config: auth.apps[1].issuer is this app itself. → Remove it."
  ],
  [
    "settings of accounts beside a function that says who is calling",
    app({ authenticate: () => null, auth: { secret: "x".repeat(32), roles: ["sales"], tenant: 1, twoFactor: true } }),
    "config: auth.tenant, auth.twoFactor mean nothing beside authenticate, which alone says who is calling. → Remove them, or authenticate; give the tenant in its answer."
  ],
  [
    "settings of accounts beside those of another server",
    app({ auth: { jwksUrl: "https://id.example/api/auth/jwks", tenant: 1, passkeys: true } }),
    "config: auth.passkeys means nothing beside auth.jwksUrl, as another server keeps the accounts. → Remove it, or auth.jwksUrl."
  ],
  [
    "unknown setting",
    app({ resource: [], db: "mysql://x", authenticate: true }),
    "config: There is no property resource. → Did you mean \"resources\"?",
    "config: authenticate is true, not a function. → Write (request) => ({ user: { id, roles } }).",
    "config: db is not the URL of a PostgreSQL database. → Write \"postgres://…\", or set DATABASE_URL and leave db out."
  ],
  [
    "no configuration",
    undefined,
    "config: The configuration is undefined, not an object. → Export defineConfig({ resources: […] }) by default."
  ],
  ["no resources", {}, "config: resources is undefined, not a list. → Write resources: [orders, customers]."]
]

describe("views and settings that cannot be", () => {
  it.each(cases)("%s", (_, config, ...lines) => {
    expect(refusalLines(config)).toEqual(lines)
  })
})

it("roles that somebody else gives are not judged", () => {
  const rules = one({ name: f.text() }, { access: { read: ["manager"] } })
  expect(refusalLines({ ...rules, authenticate: () => ({ user: { id: "1", roles: [] } }) })).toEqual([])
  expect(refusalLines({ ...rules, auth: { jwksUrl: "https://a.example/jwks" } })).toEqual([])
})
