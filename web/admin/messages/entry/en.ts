/**
 * The texts in English that are there before anybody is in: sign-in, a new password, the public form, and what the frame and every failure say. They
 * are files of their own, because the pages of strangers load nothing else: with all texts of the app the sign-in page would not keep to its size.
 */

import type { Loose } from "../loose.ts"

export const en = {
  time: {
    now: "just now",
    minutes: (count: string): string => `${count} min ago`,
    today: "today",
    yesterday: "yesterday",
    at: (day: string, time: string): string => `${day}, ${time}`
  },
  signIn: {
    title: (app: string): string => `Sign in to ${app}`,
    hint: "Use the account that your administrator made for you.",
    email: "Email",
    password: "Password",
    show: "Show password",
    hide: "Hide password",
    submit: "Sign in",
    forgot: "Forgot password?",
    or: "or",
    passkey: "Use a passkey",
    with: (provider: string): string => `Continue with ${provider}`,
    code: "Code",
    codeTitle: "Enter your code",
    codeHint: "Open your authenticator app and type the six digits it shows.",
    backupHint: "Type one of the codes you kept when you set up the second factor.",
    useBackup: "Use a backup code",
    useApp: "Use the authenticator app",
    verify: "Continue",
    back: "Back",
    token: "Bearer token",
    tokenHint: "This service takes its accounts from elsewhere. Paste a token from there.",
    wait: (seconds: string): string => `Too many tries. Wait ${seconds} s, then try again.`,
    noAdminTitle: "There is no account yet",
    noAdmin: "Make the first administrator on the machine that runs the service. Run there:",
    retry: "I have done it",
    failed: "The service cannot be reached. Check the connection and try again.",
    again: "Sign in again",
    ended: "Your session has ended. Sign in to go on; nothing you typed is lost."
  },
  shell: {
    search: "Search or jump to",
    skip: "Skip to content",
    navigation: "Navigation",
    goTo: "Go to",
    more: "More",
    user: "Your menu",
    account: "Your account",
    signOut: "Sign out",
    theme: "Theme",
    themes: { system: "System setting", light: "Light", dark: "Dark" },
    density: "Density",
    densities: { normal: "Normal", comfortable: "Comfortable", compact: "Compact" },
    language: "Language",
    languageAuto: "Browser setting",
    startHere: "Start with this page",
    shortcuts: "Shortcuts",
    reference: "API reference",
    loading: "Loading",
    cancel: "Cancel",
    retry: "Try again",
    copy: "Copy",
    copied: "Copied",
    undo: "Undo",
    undone: "Undone",
    dismiss: "Dismiss",
    offline: "You are offline. You can go on reading and typing; nothing is saved until the connection is back.",
    newVersion: "There is a new version.",
    reload: "Load it",
    empty: "Your account may not see anything here yet. Ask your administrator for a role."
  },
  problem: {
    offline: "The service cannot be reached.",
    requestId: "Request",
    slow: "The database took too long. Narrow the list: a shorter time, or one more condition.",
    index: "An index that would help:",
    unexpected: "Something went wrong. It was reported.",
    wait: (seconds: string): string => `Try again in ${seconds} s.`
  },
  reset: {
    askTitle: "Forgot your password?",
    askHint: "Write the email address of your account. You get a link to set a new password.",
    ask: "Send the link",
    sentTitle: "Check your mail",
    sent: (email: string): string => `If ${email} has an account, a link is on its way. It works for one hour.`,
    newTitle: "Set a new password",
    newHint: "It ends every session of your account, also on other devices.",
    welcome: (app: string): string => `Welcome to ${app}`,
    welcomeHint: "Set the password of your account.",
    password: "New password",
    least: (characters: string): string => `At least ${characters} characters.`,
    set: "Set the password",
    done: "Your password is set",
    doneHint: "Sign in with it now.",
    bad: "This link has expired, was used before, or is incomplete.",
    badInvitation: "This link has expired or was used before. Ask your administrator for a new one.",
    askAgain: "Ask for a new link",
    toSignIn: "Go to sign-in",
    off: "This service cannot send links by mail. Ask your administrator for a new password."
  },
  form: {
    send: "Send",
    sending: "Sending",
    person: "Checking that you are a person takes about a second.",
    missing: "This form does not exist, or is closed.",
    noCrypto: "This form works over https only. Open it with an address that begins with https.",
    offline: "The form cannot be sent right now. Check the connection and try again. What you typed stays here.",
    wait: (seconds: string): string =>
      `This was sent too often. Try again in ${seconds} seconds. What you typed stays here.`,
    refused: "The form was not accepted. Try again.",
    again: "Send another one",
    optional: "optional",
    field: {
      required: "Needs a value.",
      notNumber: "Write a number.",
      notWhole: "Write a whole number.",
      outOfRange: (least: string, most: string): string => `Write a number from ${least} to ${most}.`,
      places: (places: number): string => `At most ${places} decimal ${places === 1 ? "place" : "places"}.`,
      digits: (digits: number): string =>
        `At most ${digits} ${digits === 1 ? "digit" : "digits"} before the decimal point.`,
      tooLong: (most: string): string => `At most ${most} characters.`,
      notDate: "Write a date.",
      notTime: "Write a date and a time.",
      notUuid: "Write a UUID.",
      notJson: "Write valid JSON.",
      yes: "Yes",
      no: "No",
      choose: "Choose"
    }
  }
} as const

/** The type of these texts in every language. */
export type EntryMessages = Loose<typeof en>
