//! Tables of Apache's directives: those that a copy does without, and those that stand against it. In small letters.
//!
//! Measuring side, cold, pure.

use super::tree::Statement;

/// Effects on the machine.
const OF_THE_MACHINE: &str = "user group pidfile mutex acceptmutex sslmutex lockfile scoreboardfile coredumpdirectory \
    defaultruntimedir chrootdir davlockdb davgenericlockdb suexecusergroup assignuserid userdir rewritelog \
    rewriteloglevel cookielog sslsessionticketkeyfile";

/// CGI programs: they could ask any machine.
const OF_PROGRAMS: &str = "scriptalias scriptaliasmatch virtualscriptalias virtualscriptaliasip scriptsock scriptlog \
    action script sslpassphrasedialog dosemailnotify dossystemcommand";

/// Talk with others that a measurement does not need.
const OF_OTHERS: &str = "namevirtualhost identitycheck proxyrequests proxysourceaddress sslusestapling \
    sslcertificatechainfile sslproxyverify sslproxyverifydepth remoteipproxyprotocol";

/// Beginnings of the same, and of `mod_md`, which gets certificates from a machine.
const BEGINNINGS: &str = "sslstapling sslocsp sslproxycheckpeer sslproxycacertificate sslproxycarevocation \
    sslproxymachinecertificate heartbeat mdomain managedomain mdca mdprivate mdstore mdnotify mdmessage mdcertificate \
    mdcontact mdrenew mddrive mdport mdhttpproxy mdstapl";

/// Settings of PHP that name files of the machine.
const OF_PHP: &str = "error_log session.save_path upload_tmp_dir sys_temp_dir auto_prepend_file auto_append_file \
    open_basedir sendmail_path";

/// Handlers that run files of the site.
const HANDLERS: &str = "cgi-script fcgid-script fastcgi-script wsgi-script application/x-httpd-cgi";

/// Modules that run programs, whose connections no rewriting can hold.
const RUNNING: &str = "extfilterdefine secrulescript lua perl wsgi passenger python rails ruby mono";

/// Directives that ask another machine by themselves.
const ASKING: &str = "authnzfcgidefineprovider proxyexpressdbmfile authldapurl dbdriver dbdparams proxyremote \
    proxyremotematch secremoterules oidcprovidermetadataurl oidcproviderissuer casvalidateurl mellonidpmetadatafile";

/// Whether a copy does without it.
pub(super) fn is_dropped(one: &Statement) -> bool {
    let key = one.key.as_str();
    [OF_THE_MACHINE, OF_PROGRAMS, OF_OTHERS].iter().any(|all| has(all, key))
        || begins(BEGINNINGS, key)
        || key.starts_with("php_") && one.argument(0).is_some_and(|name| has(OF_PHP, name))
}

/// Whether this handler runs files of the site.
pub(super) fn is_program(handler: &str) -> bool {
    has(HANDLERS, handler)
}

pub(super) fn runs_program(key: &str) -> bool {
    begins(RUNNING, key)
}

pub(super) fn asks_others(key: &str) -> bool {
    has(ASKING, key)
}

fn has(all: &str, word: &str) -> bool {
    all.split_whitespace().any(|one| one == word)
}

fn begins(all: &str, word: &str) -> bool {
    all.split_whitespace().any(|one| word.starts_with(one))
}
