#include "frame_files.h"
#include <sys/stat.h>

bool file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

bool frame_file(const FrameFiles *files, int number, char path[PATH_MAX]) {
    return make_path(path, "%s/%s%06d%s", files->folder, files->prefix, number, files->suffix);
}

int frames_need_folder(const char *from, const char *command) {
    struct stat status;
    if (stat(from, &status) != 0 || S_ISDIR(status.st_mode)) return EXIT_DONE;
    report_error("%s is not a folder; brim %s takes the folder of a run", from, command);
    return EXIT_INPUT;
}

int frame_files_choose(FrameFiles *files, const Frames *frames, const char *folder,
                       const char *name, bool resume, bool overwrite) {
    if (!(folder ? make_path(files->folder, "%s", folder)
                 : make_path(files->folder, "%s/%s", frames->folder, name)))
        return EXIT_INPUT;
    if (resume && overwrite) {
        report_error("choose one of --resume (keep the %s in %s) and --overwrite (make them again)",
                     files->what, files->folder);
        return EXIT_INPUT;
    }
    for (int i = 0; i < frames->count && !resume && !overwrite; i++) {
        char path[PATH_MAX];
        if (!frame_file(files, frames->number[i], path)) return EXIT_INPUT;
        if (!file_exists(path)) continue;
        report_error("%s is already there: make only what is missing (--resume), make all again "
                     "(--overwrite), or choose another folder (-o DIR)",
                     path);
        return EXIT_INPUT;
    }
    return EXIT_DONE;
}
