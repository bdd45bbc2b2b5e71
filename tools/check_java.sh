#!/bin/sh
# Stop with instructions unless a Java runtime that Spark can use is here. Quiet when all is well.
# Java is looked for where Spark looks: JAVA_HOME first, then PATH.

least=17

advise() {
    cat >&2 <<TEXT
$1
Spark needs Java $least or newer. Install it with one of:

  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless
                   (newer releases have openjdk-21-jre-headless in its place)
  Fedora           sudo dnf install -y java-21-openjdk-headless
  macOS            brew install openjdk@17 && export JAVA_HOME="\$(brew --prefix openjdk@17)"

Then run the same command again. If Java is installed elsewhere, set JAVA_HOME to its directory.
What needs no Java: make quick, make lint, make docs.
TEXT
    exit 1
}

if [ -n "$JAVA_HOME" ]; then
    java="$JAVA_HOME/bin/java"
    [ -x "$java" ] || advise "JAVA_HOME is set to $JAVA_HOME, but there is no bin/java in it."
else
    java=$(command -v java) || advise "Java was not found: JAVA_HOME is not set and java is not on the PATH."
fi

# macOS has a java that only says that there is none, so a version that cannot be read is a missing Java.
said=$("$java" -version 2>&1) || advise "$java does not run: $said"
version=$(printf '%s\n' "$said" | sed -n 's/.*version "\([^"]*\)".*/\1/p' | head -n 1)
major=${version%%[.+-]*}
# Up to Java 8 the number was written 1.8.
[ "$major" = 1 ] && major=$(printf '%s' "$version" | cut -d. -f2)
case $major in
    '' | *[!0-9]*) advise "The version of $java could not be read from: $said" ;;
esac
[ "$major" -ge "$least" ] || advise "Java $version at $java is too old."
