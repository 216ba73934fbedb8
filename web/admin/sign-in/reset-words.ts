/** What the page for a new password says, in each language. It is loaded with that page alone. Pure. */

import type { Language } from "../messages/locale.tsx"

export interface ResetWords {
  readonly askTitle: string
  readonly askHint: string
  readonly ask: string
  readonly sentTitle: string
  readonly sent: (email: string) => string
  readonly newTitle: string
  readonly newHint: string
  readonly welcome: (app: string) => string
  readonly welcomeHint: string
  readonly password: string
  readonly least: (characters: string) => string
  readonly set: string
  readonly done: string
  readonly doneHint: string
  readonly bad: string
  readonly badInvitation: string
  readonly askAgain: string
  readonly toSignIn: string
  readonly off: string
}

export const resetWords: Readonly<Record<Language, ResetWords>> = {
  en: {
    askTitle: "Forgot your password?",
    askHint: "Write the email address of your account. You get a link to set a new password.",
    ask: "Send the link",
    sentTitle: "Check your mail",
    sent: (email) => `If ${email} has an account, a link is on its way. It works for one hour.`,
    newTitle: "Set a new password",
    newHint: "It ends every session of your account, also on other devices.",
    welcome: (app) => `Welcome to ${app}`,
    welcomeHint: "Set the password of your account.",
    password: "New password",
    least: (characters) => `At least ${characters} characters.`,
    set: "Set the password",
    done: "Your password is set",
    doneHint: "Sign in with it now.",
    bad: "This link has expired, was used before, or is incomplete.",
    badInvitation: "This link has expired or was used before. Ask your administrator for a new one.",
    askAgain: "Ask for a new link",
    toSignIn: "Go to sign-in",
    off: "This service sends no links. Ask your administrator."
  },
  de: {
    askTitle: "Passwort vergessen?",
    askHint: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Sie bekommen einen Link für ein neues Passwort.",
    ask: "Link schicken",
    sentTitle: "Prüfen Sie Ihre E-Mails",
    sent: (email) => `Wenn es ein Konto für ${email} gibt, ist ein Link unterwegs. Er gilt eine Stunde.`,
    newTitle: "Neues Passwort festlegen",
    newHint: "Damit enden alle Sitzungen Ihres Kontos, auch auf anderen Geräten.",
    welcome: (app) => `Willkommen bei ${app}`,
    welcomeHint: "Legen Sie das Passwort Ihres Kontos fest.",
    password: "Neues Passwort",
    least: (characters) => `Mindestens ${characters} Zeichen.`,
    set: "Passwort festlegen",
    done: "Ihr Passwort ist festgelegt",
    doneHint: "Melden Sie sich jetzt damit an.",
    bad: "Dieser Link ist abgelaufen, wurde schon benutzt oder ist unvollständig.",
    badInvitation:
      "Dieser Link ist abgelaufen oder wurde schon benutzt. Bitten Sie Ihre Administration um einen neuen.",
    askAgain: "Neuen Link anfordern",
    toSignIn: "Zur Anmeldung",
    off: "Dieser Dienst verschickt keine Links. Fragen Sie Ihre Administration."
  },
  fr: {
    askTitle: "Mot de passe oublié ?",
    askHint: "Saisissez l’adresse e-mail de votre compte. Vous recevrez un lien pour un nouveau mot de passe.",
    ask: "Envoyer le lien",
    sentTitle: "Consultez vos e-mails",
    sent: (email) => `Si ${email} a un compte, un lien est en route. Il est valable une heure.`,
    newTitle: "Choisir un nouveau mot de passe",
    newHint: "Toutes les sessions de votre compte prennent fin, y compris sur d’autres appareils.",
    welcome: (app) => `Bienvenue sur ${app}`,
    welcomeHint: "Choisissez le mot de passe de votre compte.",
    password: "Nouveau mot de passe",
    least: (characters) => `Au moins ${characters} caractères.`,
    set: "Enregistrer le mot de passe",
    done: "Votre mot de passe est enregistré",
    doneHint: "Connectez-vous maintenant.",
    bad: "Ce lien a expiré, a déjà servi ou est incomplet.",
    badInvitation: "Ce lien a expiré ou a déjà servi. Demandez-en un nouveau à votre administrateur.",
    askAgain: "Demander un nouveau lien",
    toSignIn: "Aller à la connexion",
    off: "Ce service n’envoie pas de liens. Adressez-vous à votre administrateur."
  },
  es: {
    askTitle: "¿Ha olvidado su contraseña?",
    askHint: "Escriba el correo electrónico de su cuenta. Recibirá un enlace para una contraseña nueva.",
    ask: "Enviar el enlace",
    sentTitle: "Revise su correo",
    sent: (email) => `Si ${email} tiene una cuenta, un enlace está en camino. Vale una hora.`,
    newTitle: "Establecer una contraseña nueva",
    newHint: "Termina todas las sesiones de su cuenta, también en otros dispositivos.",
    welcome: (app) => `Le damos la bienvenida a ${app}`,
    welcomeHint: "Establezca la contraseña de su cuenta.",
    password: "Contraseña nueva",
    least: (characters) => `Al menos ${characters} caracteres.`,
    set: "Establecer la contraseña",
    done: "Se ha establecido su contraseña",
    doneHint: "Entre ahora con ella.",
    bad: "Este enlace ha caducado, ya se usó o está incompleto.",
    badInvitation: "Este enlace ha caducado o ya se usó. Pida uno nuevo a su administrador.",
    askAgain: "Pedir un enlace nuevo",
    toSignIn: "Ir a la página de entrada",
    off: "Este servicio no envía enlaces. Pregunte a su administrador."
  },
  ar: {
    askTitle: "هل نسيت كلمة المرور؟",
    askHint: "اكتب البريد الإلكتروني لحسابك. سيصلك رابط لتعيين كلمة مرور جديدة.",
    ask: "إرسال الرابط",
    sentTitle: "راجع بريدك",
    sent: (email) => `إذا كان لـ ${email} حساب فالرابط في الطريق. يبقى صالحًا ساعة واحدة.`,
    newTitle: "تعيين كلمة مرور جديدة",
    newHint: "تنتهي بها كل جلسات حسابك، على الأجهزة الأخرى أيضًا.",
    welcome: (app) => `مرحبًا بك في ${app}`,
    welcomeHint: "عيّن كلمة مرور حسابك.",
    password: "كلمة المرور الجديدة",
    least: (characters) => `عدد الأحرف على الأقل: ${characters}.`,
    set: "تعيين كلمة المرور",
    done: "تم تعيين كلمة المرور",
    doneHint: "سجّل الدخول بها الآن.",
    bad: "انتهت صلاحية هذا الرابط أو استُخدم من قبل أو هو غير كامل.",
    badInvitation: "انتهت صلاحية هذا الرابط أو استُخدم من قبل. اطلب رابطًا جديدًا من المسؤول.",
    askAgain: "طلب رابط جديد",
    toSignIn: "إلى تسجيل الدخول",
    off: "هذه الخدمة لا ترسل روابط. راجع المسؤول."
  }
}
