/** Texts of the form page, in each language. Labels and the thanks text come from the form. Pure. */

import type { Messages } from "../messages/locale.tsx"

export interface Words {
  readonly send: string
  readonly sending: string
  readonly person: string
  readonly missing: string
  readonly noCrypto: string
  readonly offline: string
  readonly wait: (seconds: string) => string
  readonly refused: string
  readonly again: string
  readonly optional: string
  /** Messages below an input, with the names that `parseText` uses. */
  readonly field: Pick<
    Messages["field"],
    | "required"
    | "notNumber"
    | "notWhole"
    | "outOfRange"
    | "places"
    | "digits"
    | "tooLong"
    | "notDate"
    | "notTime"
    | "notUuid"
    | "notJson"
    | "yes"
    | "no"
    | "choose"
  >
}

const en: Words = {
  send: "Send",
  sending: "Sending",
  person: "Checking that you are a person takes about a second.",
  missing: "There is no such form.",
  noCrypto: "This form works over https only. Open it with an address that begins with https.",
  offline: "The form cannot be sent right now. Check the connection and try again. What you typed stays here.",
  wait: (seconds) => `This was sent too often. Try again in ${seconds} seconds. What you typed stays here.`,
  refused: "The form was not taken. Try again.",
  again: "Send another one",
  optional: "optional",
  field: {
    required: "Needs a value.",
    notNumber: "Write a number.",
    notWhole: "Write a whole number.",
    outOfRange: (least, most) => `Write a number from ${least} to ${most}.`,
    places: (places) => `At most ${places} decimal ${places === 1 ? "place" : "places"}.`,
    digits: (digits) => `At most ${digits} ${digits === 1 ? "digit" : "digits"} before the decimal point.`,
    tooLong: (most) => `At most ${most} characters.`,
    notDate: "Write a date.",
    notTime: "Write a date and a time.",
    notUuid: "Write a UUID.",
    notJson: "Write valid JSON.",
    yes: "Yes",
    no: "No",
    choose: "Choose"
  }
}

const de: Words = {
  send: "Senden",
  sending: "Wird gesendet",
  person: "Die Prüfung, ob Sie ein Mensch sind, dauert etwa eine Sekunde.",
  missing: "Dieses Formular gibt es nicht.",
  noCrypto: "Dieses Formular funktioniert nur über https. Öffnen Sie es mit einer Adresse, die mit https beginnt.",
  offline:
    "Das Formular lässt sich gerade nicht senden. Prüfen Sie die Verbindung und versuchen Sie es erneut. Ihre Eingaben bleiben erhalten.",
  wait: (seconds) => `Zu oft gesendet. Versuchen Sie es in ${seconds} Sekunden erneut. Ihre Eingaben bleiben erhalten.`,
  refused: "Das Formular wurde nicht angenommen. Versuchen Sie es erneut.",
  again: "Noch eines senden",
  optional: "optional",
  field: {
    required: "Bitte ausfüllen.",
    notNumber: "Geben Sie eine Zahl ein.",
    notWhole: "Geben Sie eine ganze Zahl ein.",
    outOfRange: (least, most) => `Geben Sie eine Zahl von ${least} bis ${most} ein.`,
    places: (places) => `Höchstens ${places} ${places === 1 ? "Nachkommastelle" : "Nachkommastellen"}.`,
    digits: (digits) => `Höchstens ${digits} ${digits === 1 ? "Stelle" : "Stellen"} vor dem Komma.`,
    tooLong: (most) => `Höchstens ${most} Zeichen.`,
    notDate: "Geben Sie ein Datum ein.",
    notTime: "Geben Sie Datum und Uhrzeit ein.",
    notUuid: "Geben Sie eine UUID ein.",
    notJson: "Geben Sie gültiges JSON ein.",
    yes: "Ja",
    no: "Nein",
    choose: "Auswählen"
  }
}

const fr: Words = {
  send: "Envoyer",
  sending: "Envoi en cours",
  person: "Vérifier que vous êtes une personne prend environ une seconde.",
  missing: "Ce formulaire n’existe pas.",
  noCrypto: "Ce formulaire ne fonctionne qu’en https. Ouvrez-le avec une adresse qui commence par https.",
  offline:
    "Le formulaire ne peut pas être envoyé pour le moment. Vérifiez la connexion et réessayez. Votre saisie est conservée.",
  wait: (seconds) => `Trop d’envois. Réessayez dans ${seconds} secondes. Votre saisie est conservée.`,
  refused: "Le formulaire n’a pas été accepté. Réessayez.",
  again: "Envoyer un autre formulaire",
  optional: "facultatif",
  field: {
    required: "À remplir.",
    notNumber: "Saisissez un nombre.",
    notWhole: "Saisissez un nombre entier.",
    outOfRange: (least, most) => `Saisissez un nombre de ${least} à ${most}.`,
    places: (places) => `Au plus ${places} ${places < 2 ? "décimale" : "décimales"}.`,
    digits: (digits) => `Au plus ${digits} ${digits < 2 ? "chiffre" : "chiffres"} avant la virgule.`,
    tooLong: (most) => `Au plus ${most} caractères.`,
    notDate: "Saisissez une date.",
    notTime: "Saisissez une date et une heure.",
    notUuid: "Saisissez un UUID.",
    notJson: "Saisissez un JSON valide.",
    yes: "Oui",
    no: "Non",
    choose: "Choisir"
  }
}

const es: Words = {
  send: "Enviar",
  sending: "Enviando",
  person: "Comprobar que es una persona tarda alrededor de un segundo.",
  missing: "Este formulario no existe.",
  noCrypto: "Este formulario solo funciona con https. Ábralo con una dirección que empiece por https.",
  offline:
    "El formulario no se puede enviar ahora. Compruebe la conexión e inténtelo de nuevo. Lo escrito se conserva.",
  wait: (seconds) => `Demasiados envíos. Inténtelo de nuevo en ${seconds} segundos. Lo escrito se conserva.`,
  refused: "El formulario no fue aceptado. Inténtelo de nuevo.",
  again: "Enviar otro formulario",
  optional: "opcional",
  field: {
    required: "Rellene este campo.",
    notNumber: "Escriba un número.",
    notWhole: "Escriba un número entero.",
    outOfRange: (least, most) => `Escriba un número de ${least} a ${most}.`,
    places: (places) => `Como máximo ${places} ${places === 1 ? "decimal" : "decimales"}.`,
    digits: (digits) => `Como máximo ${digits} ${digits === 1 ? "cifra" : "cifras"} antes de la coma.`,
    tooLong: (most) => `Como máximo ${most} caracteres.`,
    notDate: "Escriba una fecha.",
    notTime: "Escriba una fecha y una hora.",
    notUuid: "Escriba un UUID.",
    notJson: "Escriba un JSON válido.",
    yes: "Sí",
    no: "No",
    choose: "Elegir"
  }
}

const ar: Words = {
  send: "إرسال",
  sending: "جارٍ الإرسال",
  person: "يستغرق التحقق من أنك إنسان نحو ثانية.",
  missing: "لا يوجد نموذج كهذا.",
  noCrypto: "يعمل هذا النموذج عبر https فقط. افتحه بعنوان يبدأ بـ https.",
  offline: "تعذر إرسال النموذج الآن. تحقق من الاتصال وحاول مرة أخرى. ما كتبته محفوظ هنا.",
  wait: (seconds) => `أُرسل مرات كثيرة. حاول مرة أخرى بعد ${seconds} ث. ما كتبته محفوظ هنا.`,
  refused: "لم يُقبل النموذج. حاول مرة أخرى.",
  again: "إرسال نموذج آخر",
  optional: "اختياري",
  field: {
    required: "هذا الحقل مطلوب.",
    notNumber: "اكتب رقمًا.",
    notWhole: "اكتب عددًا صحيحًا.",
    outOfRange: (least, most) => `اكتب رقمًا من ${least} إلى ${most}.`,
    places: (places) => `المنازل العشرية على الأكثر: ${places}.`,
    digits: (digits) => `الأرقام قبل الفاصلة على الأكثر: ${digits}.`,
    tooLong: (most) => `الأحرف على الأكثر: ${most}.`,
    notDate: "اكتب تاريخًا.",
    notTime: "اكتب تاريخًا ووقتًا.",
    notUuid: "اكتب UUID.",
    notJson: "اكتب JSON صالحًا.",
    yes: "نعم",
    no: "لا",
    choose: "اختر"
  }
}

const all: { readonly [language: string]: Words } = { en, de, fr, es, ar }

/** The first supported language of the visitor. */
export const wordsFor = (languages: readonly string[]): { readonly language: string; readonly words: Words } => {
  for (const tag of languages) {
    const language = tag.split("-")[0]!.toLowerCase()
    const words = all[language]
    if (words !== undefined) return { language, words }
  }
  return { language: "en", words: en }
}
